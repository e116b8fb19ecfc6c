// SPDX-License-Identifier: Apache-2.0
// `uvmsim trace generate llm`, and configurations of models where a command takes a trace.
#pragma once

#include <string>
#include <vector>

#include "sim/cli/options.h"
#include "sim/cli/scratch_folder.h"

namespace uvmsim::cli {

// Returns the options that only `llm` takes; the other options of `trace generate` belong to the other patterns.
std::vector<Option> llm_options();
int generate_llm(const Values& values);

// Returns whether a .json file is a model's configuration and not a trace.
bool is_model_config(const std::string& path);
// Writes the program that the file describes as a trace in the folder, under the file's name. Returns its path.
std::string trace_of_config(const std::string& path, const ScratchFolder& folder);

}  // namespace uvmsim::cli
