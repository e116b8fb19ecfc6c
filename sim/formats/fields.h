// SPDX-License-Identifier: Apache-2.0
// Formats one field of CSV and characters of XML and HTML; splits a text into fields.
#pragma once

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/common/plain_text.h"

namespace uvmsim {

// Makes plain text, quoted if it holds a comma or a quote. A text that a spreadsheet would run as a formula gets an
// apostrophe in front.
inline std::string csv_field(std::string_view given) {
  std::string field = plain_text(given);
  const bool is_sign = field.starts_with('+') || field.starts_with('-');
  const bool is_number = is_sign && field.size() > 1 && field.find_first_not_of("0123456789.", 1) == std::string::npos;
  if (field.starts_with('=') || field.starts_with('@') || (is_sign && !is_number)) field.insert(0, 1, '\'');
  if (field.find_first_of(",\"") == std::string::npos) return field;
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

// Each field ends at a separator or at the end of the text; an empty last field is dropped.
inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> fields;
  std::istringstream stream(text);
  for (std::string field; std::getline(stream, field, separator);) fields.push_back(std::move(field));
  return fields;
}

}  // namespace uvmsim
