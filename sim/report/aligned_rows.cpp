#include "sim/report/aligned_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace uvmsim::report {

std::string aligned_rows(const std::vector<std::vector<std::string>>& rows, std::string_view indent) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  std::string text;
  for (const auto& row : rows) {
    text += fmt::format("{}{:<{}}", indent, row[0], widths[0]);
    for (std::size_t column = 1; column < row.size(); ++column) {
      text += fmt::format("  {:>{}}", row[column], widths[column]);
    }
    text += "\n";
  }
  return text;
}

}  // namespace uvmsim::report
