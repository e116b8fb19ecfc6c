// SPDX-License-Identifier: Apache-2.0
// One field of CSV; characters of XML and HTML; the fields of a text.
#pragma once

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

inline void append_markup(char c, std::string& out) {
  constexpr std::pair<char, std::string_view> kMarkup[] = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
  const auto found = std::ranges::find(kMarkup, c, &std::pair<char, std::string_view>::first);
  out += found == std::end(kMarkup) ? std::string_view(&c, 1) : found->second;
}

inline std::string in_markup(std::string_view text) {
  std::string out;
  for (const char c : text) append_markup(c, out);
  return out;
}

// Each ends at a separator or with the text: none after the last separator, none of an empty text.
inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> fields;
  std::istringstream stream(text);
  for (std::string field; std::getline(stream, field, separator);) fields.push_back(std::move(field));
  return fields;
}

}  // namespace uvmsim
