#include "sim/policy/name_suggestion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace uvmsim::policy {
namespace {

// Longer input is no typing error, and the distance is quadratic.
constexpr std::size_t kLongestName = 64;

// Insertions, deletions and substitutions that turn one string into the other.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t substituted = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[to.size()];
}

}  // namespace

std::string suggestion(std::string_view typed, const std::vector<std::string>& names) {
  if (typed.size() > kLongestName) {
    return "";
  }
  std::size_t best = std::max<std::size_t>(2, typed.size() / 3) + 1;
  const std::string* nearest = nullptr;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(typed, name);
    if (distance < best && distance < name.size()) {
      best = distance;
      nearest = &name;
    }
  }
  return nearest == nullptr ? "" : fmt::format(" (did you mean '{}'?)", *nearest);
}

}  // namespace uvmsim::policy
