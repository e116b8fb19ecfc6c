// Text from files: messages and tables need it on one line.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "sim/common/error.h"

namespace uvmsim::config {

inline bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// Control characters become '?'.
inline std::string one_line(std::string text) {
  std::replace_if(text.begin(), text.end(), is_control, '?');
  return text;
}

// The same; what is longer than 60 bytes is cut and ends in "...".
inline std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string result = one_line(std::string(text.substr(0, kLongest)));
  return text.size() > kLongest ? result + "..." : result;
}

// Names, descriptions and sources: not empty, no control characters.
inline bool is_one_line(std::string_view text) {
  return !text.empty() && std::none_of(text.begin(), text.end(), is_control);
}

// What `read` returns. Texts of the file that it reads are in its errors, and may have control characters.
template <class F>
auto with_one_line_errors(F&& read) {
  try {
    return std::forward<F>(read)();
  } catch (const InputError& error) {
    throw InputError(one_line(error.what()));
  }
}

}  // namespace uvmsim::config
