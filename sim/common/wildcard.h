// SPDX-License-Identifier: Apache-2.0
// Names chosen by pattern, as in a shell.
#pragma once

#include <string_view>

namespace uvmsim {

// A match of the whole name: * is any run of characters, ? one character.
bool matches(std::string_view pattern, std::string_view name);

}  // namespace uvmsim
