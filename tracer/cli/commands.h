// SPDX-License-Identifier: Apache-2.0
// The subcommands. Each takes what follows its name, returns the exit code and throws uvmsim::InputError for what the
// user got wrong.
#pragma once

#include <string>
#include <vector>

namespace uvmtrace {

int record_command(const std::vector<std::string>& arguments);
int merge_command(const std::vector<std::string>& arguments);
int complete_command(const std::vector<std::string>& arguments);
int info_command(const std::vector<std::string>& arguments);
int check_layout_command(const std::vector<std::string>& arguments);
int log_command(const std::vector<std::string>& arguments);

}  // namespace uvmtrace
