// SPDX-License-Identifier: Apache-2.0
// One field of CSV (RFC 4180).
#pragma once

#include <string>
#include <string_view>

namespace uvmsim {

// Quoted where it holds a comma, a quote or a line end.
inline std::string csv_field(std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(field);
  std::string text = "\"";
  for (const char c : field) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

}  // namespace uvmsim
