// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/zipf_ranks.h"

#include <algorithm>

#include "sim/common/check.h"
#include "sim/common/fixed_log.h"

namespace uvmsim::recommend {

namespace {

constexpr std::uint64_t kPrecise = 1024;
constexpr std::uint64_t kWidth = 256;
constexpr unsigned kScale = 50;  // the weight of rank 1 is 2^50; all weights together stay below 2^56

// Returns count * middle^-alpha for the middle of `count` ranks from `first` on.
std::uint64_t weight(std::uint64_t first, std::uint64_t count, std::uint32_t alpha_thousandths) {
  const std::uint64_t log_of_middle = log2_fixed(2 * first + count - 1) - (std::uint64_t{1} << kLogFraction);
  const auto loss = static_cast<std::int64_t>(log_of_middle * alpha_thousandths / 1000);
  return std::max<std::uint64_t>(1, exp2_fixed(static_cast<std::int64_t>(log2_fixed(count)) - loss, kScale));
}

}  // namespace

ZipfRanks::ZipfRanks(std::uint32_t alpha_thousandths, std::uint64_t last) {
  UVMSIM_CHECK(last >= 1 && last <= kEndless, "last rank {}", last);
  if (alpha_thousandths <= 1000) {
    first_ = {1, last + 1};
    cumulative_ = {last};
    return;
  }
  std::uint64_t sum = 0;
  for (std::uint64_t first = 1; first <= last;) {
    const std::uint64_t count = std::min(first <= kPrecise ? 1 : first / kWidth, last + 1 - first);
    sum += weight(first, count, alpha_thousandths);
    first_.push_back(first);
    cumulative_.push_back(sum);
    first += count;
  }
  first_.push_back(last + 1);
}

std::uint64_t ZipfRanks::draw(Random& random) const {
  const std::uint64_t point = random.below(cumulative_.back());
  const auto entry =
      static_cast<std::size_t>(std::upper_bound(cumulative_.begin(), cumulative_.end(), point) - cumulative_.begin());
  const std::uint64_t before = entry == 0 ? 0 : cumulative_[entry - 1];
  const std::uint64_t ranks = first_[entry + 1] - first_[entry];
  // The remainder of the draw selects the rank within the entry.
  const WideUnsigned into = WideUnsigned{point - before} * ranks / (cumulative_[entry] - before);
  return first_[entry] + static_cast<std::uint64_t>(into);
}

double ZipfRanks::share_up_to(std::uint64_t rank) const {
  const auto end = static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), rank) - first_.begin());
  return static_cast<double>(cumulative_[end - 1]) / static_cast<double>(cumulative_.back());
}

}  // namespace uvmsim::recommend
