// SPDX-License-Identifier: Apache-2.0
// Texts from files, fit for messages and tables.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "sim/common/one_line.h"

namespace uvmsim {

// On one line: control characters become '?', and in what is not UTF-8 so does every byte beyond ASCII. What is longer
// than 80 bytes is cut and ends in "...".
std::string printable(std::string_view text);

// Names, descriptions and sources: not empty, no control characters.
inline bool is_one_line(std::string_view text) { return !text.empty() && std::ranges::none_of(text, is_control); }

// Bytes of the well-formed UTF-8 character at `at` (no overlong form, no surrogate); 0: there is none.
std::size_t utf8_character_bytes(std::string_view text, std::size_t at);
// The largest length up to `most` that does not end within a character.
inline std::size_t utf8_cut(std::string_view text, std::size_t most) {
  while (most > 0 && most < text.size() && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return std::min(most, text.size());
}

// Whether it is well-formed UTF-8.
bool is_utf8(std::string_view text);

}  // namespace uvmsim
