// SPDX-License-Identifier: Apache-2.0
#include "sim/formats/wrapped.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/common/plain_text.h"

namespace uvmsim {
namespace {

std::size_t columns_to_fill = kLineWidth;

// Counts the UTF-8 bytes that begin a character.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::size_t last_column(std::string_view line) {
  constexpr std::size_t kFurthest = 40;
  std::size_t at = line.find_first_not_of(' ');
  if (at == std::string_view::npos) return 0;
  for (std::size_t i = 1; i < std::min(line.size(), kFurthest); ++i) {
    const bool after_blanks = i > 1 && line[i - 1] == ' ' && line[i - 2] == ' ';
    const bool after_bracket = i > 1 && line[i - 1] == ' ' && line[i - 2] == ']';
    if (line[i] != ' ' && (after_blanks || after_bracket)) at = i;
  }
  return at;
}

}  // namespace

void set_line_width(std::size_t columns) { columns_to_fill = columns; }
std::size_t line_width() { return columns_to_fill; }

std::string wrapped_line(std::string_view line, std::size_t hang) {
  const std::size_t whole = std::min(line_width(), kLineWidth);
  hang = std::min(hang, whole / 2);
  std::string out;
  while (columns_of(line) > whole - (out.empty() ? 0 : hang)) {
    const std::size_t width = whole - (out.empty() ? 0 : hang);
    std::size_t cut = line.rfind(' ', width);
    // The break must not be within the indentation of the hanging lines.
    const bool found = cut != std::string_view::npos && !(out.empty() && cut <= hang);
    const std::size_t comma = found ? std::string_view::npos : line.rfind(',', width - 1);
    const bool at_comma = comma != std::string_view::npos && comma > hang;
    if (!found) cut = at_comma ? comma + 1 : line.find(' ', width);
    if (cut == std::string_view::npos) break;
    out += std::string(out.empty() ? 0 : hang, ' ') + std::string(line.substr(0, cut)) + "\n";
    line.remove_prefix(at_comma ? cut : cut + 1);
  }
  return out + std::string(out.empty() ? 0 : hang, ' ') + std::string(line);
}

std::string wrapped_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    out += wrapped_line(line, last_column(line));
    if (end == std::string_view::npos) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string TextTable::text(bool first_column_left, std::string_view indent) const {
  std::vector<std::vector<std::string>> rows = rows_;
  for (std::vector<std::string>& row : rows) {
    for (std::string& cell : row) cell = plain_text(cell);
  }
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  constexpr const char* kBetween = "  ";
  std::string out;
  for (std::size_t begin = 1, end = 0; end < widths.size(); begin = end) {
    std::size_t width = indent.size() + widths.front();
    for (end = begin; end < widths.size() && (end == begin || width + 2 + widths[end] <= line_width()); ++end) {
      width += 2 + widths[end];
    }
    if (begin > 1) out += "\n";
    for (const auto& row : rows) {
      std::string line = first_column_left ? fmt::format("{}{:<{}}", indent, row.front(), widths.front())
                                           : fmt::format("{}{:>{}}", indent, row.front(), widths.front());
      for (std::size_t column = begin; column < end; ++column) {
        line += fmt::format("{}{:>{}}", kBetween, row[column], widths[column]);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
  }
  return out;
}

}  // namespace uvmsim
