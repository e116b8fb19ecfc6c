// SPDX-License-Identifier: Apache-2.0
// Makes text from untrusted files harmless: names end up in terminals, tables, CSV files and pages.
//
// One rule, here and in analysis/plain_text.py: characters that would begin another line, move the cursor, change the
// writing direction or are invisible become '?', and so does every byte outside a UTF-8 character.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace uvmsim {

// Returns the bytes of the well-formed UTF-8 character at `at` (no overlong form, no surrogate); 0 if there is none.
std::size_t utf8_character_bytes(std::string_view text, std::size_t at);

// Returns the text on one line.
std::string plain_text(std::string_view text);

// Does the same for a message and cuts it to a readable length (2000 bytes; a cut text ends in "...").
std::string plain_line(std::string_view text);

}  // namespace uvmsim
