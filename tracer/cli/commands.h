// SPDX-License-Identifier: Apache-2.0
// The command lines of the subcommands. Their functions return the exit code and throw uvmsim::InputError for mistakes
// of the user.
#pragma once

#include "sim/cli/options.h"

namespace uvmtrace {

using uvmsim::cli::CommandLine;
using uvmsim::cli::kHelp;
using uvmsim::cli::Option;
using uvmsim::cli::Values;

CommandLine record_command();
CommandLine merge_command();
CommandLine complete_command();
CommandLine info_command();
CommandLine check_layout_command();
CommandLine log_command();
CommandLine faults_command();

}  // namespace uvmtrace
