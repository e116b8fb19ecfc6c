#include "sim/config/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace uvmsim::config {
namespace {

// Names of keys are short; what a hostile file holds may not be.
constexpr std::size_t kLongestCompared = 64;

// Optimal string alignment distance.
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

std::size_t common_prefix(std::string_view a, std::string_view b) {
  const auto differ =
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())), b.begin());
  return static_cast<std::size_t>(differ.first - a.begin());
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string_view compared = name.substr(0, kLongestCompared);
  std::string nearest;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  std::size_t longest = 0;
  for (const std::string& candidate : candidates) {
    const bool is_beginning = !compared.empty() && candidate.starts_with(compared);
    const std::size_t edits = is_beginning ? 1 : edits_between(compared, candidate);
    const std::size_t prefix = common_prefix(compared, candidate);
    if (edits < fewest || (edits == fewest && prefix > longest)) {
      nearest = candidate;
      fewest = edits;
      longest = prefix;
    }
  }
  return nearest;
}

std::string nearest_key_hint(std::string_view name, const std::vector<std::string>& candidates, std::string otherwise) {
  const std::string nearest = nearest_name(name, candidates);
  const std::string_view compared = name.substr(0, kLongestCompared);
  const bool is_near =
      !compared.empty() && (nearest.starts_with(compared) || compared.starts_with(nearest) ||
                            edits_between(compared, nearest) <= std::max<std::size_t>(2, compared.size() / 2));
  return is_near && name.size() <= kLongestCompared ? "the nearest known key is '" + nearest + "'"
                                                    : std::move(otherwise);
}

}  // namespace uvmsim::config
