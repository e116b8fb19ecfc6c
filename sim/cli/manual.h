// SPDX-License-Identifier: Apache-2.0
// `completion` and `manual`, for every program of subcommands: what shells and manual pages are told about it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/command_line.h"

namespace uvmsim::cli {

// As any subcommand (commands.h); they speak of the program that runs.
CommandLine completion_command();
CommandLine manual_command();

// A script that the shell loads. `shell`: bash, zsh or fish. Throws InputError for another one.
std::string completion_script(const Program& program, std::string_view shell);

struct ManualPage {
  std::string file;  // "uvmsim-run.1"
  std::string text;  // for troff
};

// Manual pages (man 1) of a program and its commands, that of the program first. `help` is what the program's own
// --help prints.
std::vector<ManualPage> manual_pages(const Program& program, const std::string& help);

}  // namespace uvmsim::cli
