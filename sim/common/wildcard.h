// SPDX-License-Identifier: Apache-2.0
// Selects names by patterns, as in a shell.
#pragma once

#include <string_view>

namespace uvmsim {

// Returns whether the whole name matches: * is any run of characters, ? one character.
bool matches(std::string_view pattern, std::string_view name);

}  // namespace uvmsim
