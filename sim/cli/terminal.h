// SPDX-License-Identifier: Apache-2.0
// What the text for people goes to. On a terminal: tables as wide as it is, bars, bold and colours (none with NO_COLOR
// set or TERM=dumb); elsewhere the same bytes whatever the environment says.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace uvmsim::cli {

bool is_terminal(int descriptor);
bool shows_colours(int descriptor);

// Of a terminal: COLUMNS where it holds a number, else what the terminal says; elsewhere report::kLineWidth. 40 to
// 1000.
std::size_t columns_of_terminal(int descriptor);

inline constexpr std::string_view kBold = "1", kRed = "1;31";
// The text in a style where the descriptor shows colours, else as it is.
std::string styled(int descriptor, std::string_view style, std::string_view text);
// The first line of a text in bold.
std::string with_headline(int descriptor, std::string_view text);

// What fits on one line of a terminal.
std::string fitted(int descriptor, std::string text);

}  // namespace uvmsim::cli
