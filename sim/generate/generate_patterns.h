// SPDX-License-Identifier: Apache-2.0
// The synthetic patterns, by source file. Only generate.cpp uses this; programs are made by make_program().
#pragma once

#include <memory>
#include <span>

#include "sim/generate/generate.h"

namespace uvmsim::trace {

std::span<const GeneratorPattern> scan_patterns();
std::span<const GeneratorPattern> random_patterns();
std::span<const GeneratorPattern> block_patterns();
std::span<const GeneratorPattern> element_patterns();
std::span<const GeneratorPattern> pipeline_patterns();

// Returns the option. Throws InputError unless it is 1, 2, 4 or 8.
std::uint64_t element_bytes_of(const GeneratorOptions& options);

template <class Program, auto... kArguments>
std::unique_ptr<SyntheticProgram> make_pattern(const GeneratorOptions& options) {
  return std::make_unique<Program>(options, kArguments...);
}

}  // namespace uvmsim::trace
