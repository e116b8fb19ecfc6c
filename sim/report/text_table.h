// A table of text with aligned columns: the first to the left, numbers to the right.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/common/one_line.h"

namespace uvmsim::report {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  // As many cells as the header has. Control characters become '?'.
  void add_row(std::vector<std::string> cells) {
    for (std::string& cell : cells) cell = one_line(std::move(cell));
    rows_.push_back(std::move(cells));
  }
  // Lines that end in newlines, without trailing blanks. Columns beyond line_width() (wrapped.h) follow as a second
  // block, the first column repeated.
  std::string text(bool first_column_left) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace uvmsim::report
