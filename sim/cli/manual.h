// SPDX-License-Identifier: Apache-2.0
// Manual pages (man 1) of a program and its commands, made of their help and option tables.
#pragma once

#include <string>
#include <vector>

#include "sim/cli/command_line.h"

namespace uvmsim::cli {

struct ManualPage {
  std::string file;  // "uvmsim-run.1"
  std::string text;  // for troff
};

// That of the program first. `help` is what the program's own --help prints.
std::vector<ManualPage> manual_pages(const Program& program, const std::string& help);

}  // namespace uvmsim::cli
