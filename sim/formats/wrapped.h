// SPDX-License-Identifier: Apache-2.0
// Text for people, in lines that a terminal shows whole.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace uvmsim {

// Where no terminal is narrower: files and pipes hold the same bytes on every machine.
inline constexpr std::size_t kLineWidth = 120;

// What tables are fitted to: kLineWidth, or the columns of the terminal that they go to (said once, before they are
// made).
void set_line_width(std::size_t columns);
std::size_t line_width();

// Texts are at most kLineWidth wide, on wider terminals too.

// One line without its end, broken between words; what follows the first is indented by `hang`. Words stay whole, but
// for one longer than a line: it breaks after a comma.
std::string wrapped_line(std::string_view line, std::size_t hang);

// Every line of a text, what follows indented to where the line's last column begins: after two blanks, or "] ".
std::string wrapped_text(std::string_view text);

}  // namespace uvmsim
