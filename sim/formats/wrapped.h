// SPDX-License-Identifier: Apache-2.0
// Text and tables for people, in lines that a terminal shows whole.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/common/one_line.h"

namespace uvmsim {

// Where no terminal is narrower: files and pipes hold the same bytes on every machine.
inline constexpr std::size_t kLineWidth = 120;

// What tables are fitted to: kLineWidth, or the columns of the terminal that they go to (said once, before they are
// made).
void set_line_width(std::size_t columns);
std::size_t line_width();

// Texts are at most kLineWidth wide, on wider terminals too.

// One line without its end, broken between words; what follows the first is indented by `hang`. Words stay whole, but
// for one longer than a line: it breaks after a comma.
std::string wrapped_line(std::string_view line, std::size_t hang);

// Every line of a text, what follows indented to where the line's last column begins: after two blanks, or "] ".
std::string wrapped_text(std::string_view text);

// Columns are aligned: the first to the left, numbers to the right.
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
  // Lines that end in newlines, behind `indent`, without trailing blanks. Columns beyond line_width() follow as a
  // second block, the first column repeated.
  std::string text(bool first_column_left = true, std::string_view indent = "") const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace uvmsim
