// SPDX-License-Identifier: Apache-2.0
// Generates a program that was not recorded: PyTorch's work with a language model, from its `config.json`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/llm/model.h"
#include "sim/llm/settings.h"
#include "sim/trace/record.h"

namespace uvmsim::llm {

struct Program {
  Model model;
  Settings settings;
  std::vector<std::string> not_read;  // keys of the file that were not used
  trace::Header header;
};

// Reads a file; settings `given` on the command line override its own. Throws InputError, one line.
Program read_program(const std::string& file, const Given& given);

// Calls `sink` with every record, in order. The same program gives the same records.
void generate(const Program& program, const std::function<void(const trace::Record&)>& sink);

}  // namespace uvmsim::llm
