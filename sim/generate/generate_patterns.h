// SPDX-License-Identifier: Apache-2.0
// The synthetic patterns, by where their code is. Only generate.cpp uses this; programs come from make_program.
#pragma once

#include <memory>

#include "sim/generate/generate.h"

namespace uvmsim::trace {

using ProgramFactory = std::unique_ptr<SyntheticProgram> (*)(const GeneratorOptions& options);

// generate_scans.cpp
std::unique_ptr<SyntheticProgram> make_sequential(const GeneratorOptions& options);
std::unique_ptr<SyntheticProgram> make_zigzag(const GeneratorOptions& options);
std::unique_ptr<SyntheticProgram> make_cyclic_scan(const GeneratorOptions& options);
std::unique_ptr<SyntheticProgram> make_strided(const GeneratorOptions& options);
std::unique_ptr<SyntheticProgram> make_stencil(const GeneratorOptions& options);
// generate_random.cpp
std::unique_ptr<SyntheticProgram> make_random(const GeneratorOptions& options);
std::unique_ptr<SyntheticProgram> make_zipf(const GeneratorOptions& options);
std::unique_ptr<SyntheticProgram> make_pointer_chase(const GeneratorOptions& options);
// generate_blocks.cpp
std::unique_ptr<SyntheticProgram> make_tiled_matmul(const GeneratorOptions& options);
std::unique_ptr<SyntheticProgram> make_repeated_scan(const GeneratorOptions& options);

// generate_pipeline.cpp
std::unique_ptr<SyntheticProgram> make_pipeline(const GeneratorOptions& options);

}  // namespace uvmsim::trace
