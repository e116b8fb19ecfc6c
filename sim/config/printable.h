// Text from files: messages and tables need it on one line.
#pragma once

#include <string>
#include <string_view>

namespace uvmsim::config {

// Control characters become '?'; what is longer than 60 bytes is cut and ends in "...".
inline std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string result(text.substr(0, kLongest));
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      c = '?';
    }
  }
  return text.size() > kLongest ? result + "..." : result;
}

// Names, descriptions and sources: not empty, no control characters.
inline bool is_one_line(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return false;
    }
  }
  return !text.empty();
}

}  // namespace uvmsim::config
