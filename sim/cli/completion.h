// SPDX-License-Identifier: Apache-2.0
// Completion of a program's command line in bash, zsh and fish, as a script that the shell loads.
#pragma once

#include <string>
#include <string_view>

#include "sim/cli/command_line.h"

namespace uvmsim::cli {

// `shell`: bash, zsh or fish. Throws InputError for another one.
std::string completion_script(const Program& program, std::string_view shell);

}  // namespace uvmsim::cli
