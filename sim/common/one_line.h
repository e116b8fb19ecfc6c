// SPDX-License-Identifier: Apache-2.0
// Reduces text from files to one line, for messages and tables.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

namespace uvmsim {

inline bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// Control characters become '?'.
inline std::string one_line(std::string text) {
  std::ranges::replace_if(text, is_control, '?');
  return text;
}

}  // namespace uvmsim
