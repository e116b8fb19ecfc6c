// What every column and counter of a result means, once, for people: `uvmsim run --explain-columns`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace uvmsim::report {

struct Term {
  std::string_view name;     // as tables, JSON and CSV have it
  std::string_view meaning;  // with the unit, where the name does not end in it
};

// Columns of tables first, then every counter in output order.
const std::vector<Term>& glossary();

// Lines of at most 120 columns.
std::string glossary_text();

}  // namespace uvmsim::report
