// SPDX-License-Identifier: Apache-2.0
#include "sim/formats/did_you_mean.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace uvmsim {
namespace {

// Longer input is not a typing error, and the distance is quadratic.
constexpr std::size_t kLongestCompared = 64;
constexpr std::size_t kShortestPart = 3;

// Returns the optimal string alignment distance.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> edits(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        edits[i][j] = i + j;
        continue;
      }
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      edits[i][j] = std::min({edits[i - 1][j] + 1, edits[i][j - 1] + 1, edits[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
      }
    }
  }
  return edits[a.size()][b.size()];
}

bool is_part(std::string_view a, std::string_view b) {
  return std::min(a.size(), b.size()) >= kShortestPart && (a.find(b) != a.npos || b.find(a) != b.npos);
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
  const auto shorter = static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.begin() + shorter, b.begin()).first - a.begin());
}

}  // namespace

std::string_view nearest_name(std::string_view typed, const std::vector<std::string_view>& names) {
  if (typed.size() > kLongestCompared) return {};
  std::string_view nearest;
  std::size_t fewest = std::max<std::size_t>(2, typed.size() / 2);  // a larger distance means another word
  std::size_t longest = 0;
  for (const std::string_view name : names) {
    const std::size_t edits = is_part(typed, name) ? 1 : edits_between(typed, name);
    const std::size_t prefix = common_prefix(typed, name);
    if (edits >= name.size() || edits > fewest) continue;
    if (!nearest.empty() && edits == fewest && prefix <= longest) continue;
    nearest = name;
    fewest = edits;
    longest = prefix;
  }
  return nearest;
}

std::string did_you_mean_text(std::string_view nearest) {
  return nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest);
}

std::string allowed_hint(std::string_view typed, const std::vector<std::string_view>& names) {
  return fmt::format("{}; allowed: {}", did_you_mean(typed, names), fmt::join(names, ", "));
}

}  // namespace uvmsim
