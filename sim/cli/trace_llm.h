// SPDX-License-Identifier: Apache-2.0
// `uvmsim trace generate llm`, and configurations of models where a command takes a trace.
#pragma once

#include <string>
#include <vector>

#include "sim/cli/options.h"
#include "sim/cli/scratch_folder.h"

namespace uvmsim::cli {

// What only `llm` takes; the other options of `trace generate` are of the other patterns.
std::vector<Option> llm_options();
int generate_llm(const Values& values);

// A file that is no trace by its name, but a model's configuration.
bool is_model_config(const std::string& path);
// The program that the file describes, as a trace in the folder, named as the file is. Returns its path.
std::string trace_of_config(const std::string& path, const ScratchFolder& folder);

}  // namespace uvmsim::cli
