// SPDX-License-Identifier: Apache-2.0
// The names that options and commands of `uvmsim` take, for completion.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace uvmsim::cli {

// `what`: an option such as "--system", or a command such as "systems".
std::vector<std::string> completion_words(std::string_view what);

}  // namespace uvmsim::cli
