// SPDX-License-Identifier: Apache-2.0
#include "sim/formats/text_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/formats/wrapped.h"

namespace uvmsim {

std::string TextTable::text(bool first_column_left, std::string_view indent) const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
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
    for (const auto& row : rows_) {
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
