// SPDX-License-Identifier: Apache-2.0
// Outputs of text for people. Terminals get tables of their width, bars, bold and colours (none with NO_COLOR set or
// TERM=dumb); other outputs get the same bytes whatever the environment says.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace uvmsim::cli {

bool is_terminal(int descriptor);
bool shows_colours(int descriptor);

// Returns a terminal's width, 40 to 1000: COLUMNS if it holds a number, otherwise the width that the terminal reports.
// Other outputs have report::kLineWidth.
std::size_t columns_of_terminal(int descriptor);

inline constexpr std::string_view kBold = "1", kRed = "1;31";
// Returns the text in a style if the descriptor shows colours, else unchanged.
std::string styled(int descriptor, std::string_view style, std::string_view text);
// Returns the text with its first line in bold.
std::string with_headline(int descriptor, std::string_view text);

// Cuts the text to one line of a terminal.
std::string fitted(int descriptor, std::string text);

}  // namespace uvmsim::cli
