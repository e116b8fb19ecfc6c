// SPDX-License-Identifier: Apache-2.0
// The meanings of all columns and counters of a result, for `uvmsim run --explain-columns`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace uvmsim::report {

enum class TermKind { kCounter, kColumn, kTable };

struct Term {
  std::string_view name;     // as in tables, JSON and CSV
  std::string_view meaning;  // ends with the unit if the name does not
  TermKind kind = TermKind::kCounter;
};

// Columns of tables first, then those of CSV files, then every counter in output order.
const std::vector<Term>& glossary();

// Lines of at most 120 columns.
std::string glossary_text();
std::string glossary_json();

}  // namespace uvmsim::report
