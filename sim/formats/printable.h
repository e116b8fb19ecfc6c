// SPDX-License-Identifier: Apache-2.0
// Makes texts from files fit for messages and tables.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "sim/common/one_line.h"

namespace uvmsim {

// Reduces text to one line: control characters become '?', and so does every byte beyond ASCII in text that is not
// UTF-8. A text longer than 80 bytes is cut and ends in "...".
std::string printable(std::string_view text);

// Returns whether a name, description or source is valid: not empty, no control characters.
inline bool is_one_line(std::string_view text) { return !text.empty() && std::ranges::none_of(text, is_control); }

// Returns the bytes of the well-formed UTF-8 character at `at` (no overlong form, no surrogate); 0 if there is none.
std::size_t utf8_character_bytes(std::string_view text, std::size_t at);
// Returns the largest length up to `most` that does not end within a character.
inline std::size_t utf8_cut(std::string_view text, std::size_t most) {
  while (most > 0 && most < text.size() && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return std::min(most, text.size());
}

// Returns whether the text is well-formed UTF-8.
bool is_utf8(std::string_view text);

}  // namespace uvmsim
