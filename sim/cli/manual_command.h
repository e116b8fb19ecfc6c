// SPDX-License-Identifier: Apache-2.0
// `completion` and `manual`, for every program of subcommands: what shells and manual pages are told about it.
#pragma once

#include <string>
#include <vector>

namespace uvmsim::cli {

// As any subcommand (commands.h); they speak of the program that runs (command_line.h).
int completion_command(const std::vector<std::string>& arguments);
int manual_command(const std::vector<std::string>& arguments);

}  // namespace uvmsim::cli
