// Small tables within a text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace uvmsim::report {

// A line per row, behind `indent`: the first column to the left, the others to the right. As many cells in each row as
// in the first one.
std::string aligned_rows(const std::vector<std::vector<std::string>>& rows, std::string_view indent);

}  // namespace uvmsim::report
