// Text for people, in lines that a terminal shows whole.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace uvmsim {

inline constexpr std::size_t kLineWidth = 120;

// One line without its end, broken between words; what follows the first is indented by `hang`. Words stay whole, but
// for one longer than a line: it breaks after a comma.
std::string wrapped_line(std::string_view line, std::size_t hang);

// Every line of a text, what follows indented to where the line's last column begins: after two blanks, or "] ".
std::string wrapped_text(std::string_view text);

}  // namespace uvmsim
