#include "sim/cli/text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace uvmsim::cli {

std::string TextTable::text(bool first_column_left) const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      if (column > 0) line += "  ";
      line += column == 0 && first_column_left ? fmt::format("{:<{}}", row[column], widths[column])
                                               : fmt::format("{:>{}}", row[column], widths[column]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace uvmsim::cli
