// SPDX-License-Identifier: Apache-2.0
// Texts from files, fit for messages and tables.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "sim/common/one_line.h"

namespace uvmsim {

// On one line: control characters become '?', and in what is not UTF-8 so does every byte beyond ASCII. What is longer
// than 80 bytes is cut and ends in "...".
std::string printable(std::string_view text);

// Names, descriptions and sources: not empty, no control characters.
inline bool is_one_line(std::string_view text) {
  return !text.empty() && std::none_of(text.begin(), text.end(), is_control);
}

// Whether it is well-formed UTF-8 (no overlong forms, no surrogates).
bool is_utf8(std::string_view text);

}  // namespace uvmsim
