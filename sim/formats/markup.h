// SPDX-License-Identifier: Apache-2.0
// Characters as they stand in XML and HTML, between tags or in an attribute in double quotes.
#pragma once

#include <string>
#include <string_view>

namespace uvmsim {

inline void append_markup(char c, std::string& out) {
  switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
  }
}

inline std::string in_markup(std::string_view text) {
  std::string out;
  for (const char c : text) append_markup(c, out);
  return out;
}

}  // namespace uvmsim
