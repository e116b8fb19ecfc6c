// SPDX-License-Identifier: Apache-2.0
// A table of text with aligned columns: the first to the left, numbers to the right.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/common/one_line.h"

namespace uvmsim {

class TextTable {
 public:
  // Control characters become '?', here and in rows: names come from files.
  explicit TextTable(std::vector<std::string> header) { add_row(std::move(header)); }
  // As many cells as the header has.
  void add_row(std::vector<std::string> cells) {
    for (std::string& cell : cells) cell = one_line(std::move(cell));
    rows_.push_back(std::move(cells));
  }
  bool is_empty() const { return rows_.size() == 1; }
  // Lines that end in newlines, behind `indent`, without trailing blanks. Columns beyond line_width() (wrapped.h)
  // follow as a second block, the first column repeated.
  std::string text(bool first_column_left = true, std::string_view indent = "") const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace uvmsim
