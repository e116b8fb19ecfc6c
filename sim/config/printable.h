// Texts from files, short enough for messages and tables.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "sim/common/one_line.h"

namespace uvmsim::config {

// On one line; what is longer than 60 bytes is cut and ends in "...".
inline std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string result = one_line(std::string(text.substr(0, kLongest)));
  return text.size() > kLongest ? result + "..." : result;
}

// Names, descriptions and sources: not empty, no control characters.
inline bool is_one_line(std::string_view text) {
  return !text.empty() && std::none_of(text.begin(), text.end(), is_control);
}

}  // namespace uvmsim::config
