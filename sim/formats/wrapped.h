// SPDX-License-Identifier: Apache-2.0
// Formats text and tables for people, in lines that fit a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/common/one_line.h"

namespace uvmsim {

// The minimum width of the output; files and pipes hold the same bytes on every machine.
inline constexpr std::size_t kLineWidth = 120;

// Sets the width for tables: kLineWidth, or the columns of the terminal (set once, before tables are made).
void set_line_width(std::size_t columns);
std::size_t line_width();

// Texts are at most kLineWidth wide, also on wider terminals.

// Breaks one line, given without its end, between words; the following lines are indented by `hang`. A word stays whole
// unless it is longer than a line: it is then broken after a comma.
std::string wrapped_line(std::string_view line, std::size_t hang);

// Wraps every line of a text; continuation lines are indented to the line's last column: after two blanks, or "] ".
std::string wrapped_text(std::string_view text);

// A table with aligned columns: the first to the left, numbers to the right.
class TextTable {
 public:
  // Control characters become '?', here and in rows: names come from files.
  explicit TextTable(std::vector<std::string> header) { add_row(std::move(header)); }
  // Requires as many cells as the header has.
  void add_row(std::vector<std::string> cells) {
    for (std::string& cell : cells) cell = one_line(std::move(cell));
    rows_.push_back(std::move(cells));
  }
  bool is_empty() const { return rows_.size() == 1; }
  // Formats lines that end in newlines, behind `indent`, without trailing blanks. Columns beyond line_width() follow as
  // a second block with the first column repeated.
  std::string text(bool first_column_left = true, std::string_view indent = "") const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace uvmsim
