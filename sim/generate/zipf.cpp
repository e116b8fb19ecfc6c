// SPDX-License-Identifier: Apache-2.0
#include "sim/generate/zipf.h"

#include <algorithm>
#include <array>

#include "sim/common/fixed_log.h"

namespace uvmsim::trace {

namespace {

constexpr unsigned kFraction = kLogFraction;
constexpr std::uint64_t kOne = std::uint64_t{1} << kFraction;

// 2^(-1/2), 2^(-1/4), 2^(-1/8), ...
std::array<std::uint64_t, kFraction> half_powers() {
  std::array<std::uint64_t, kFraction> out{};
  std::uint64_t power = kOne / 2;
  for (auto& entry : out) {
    power = integer_sqrt(power << kFraction);
    entry = power;
  }
  return out;
}

// 2^-exponent
std::uint64_t exp2_negative(std::uint64_t exponent, const std::array<std::uint64_t, kFraction>& powers) {
  std::uint64_t result = kOne;
  for (unsigned i = 0; i < kFraction; ++i) {
    if ((exponent >> (kFraction - 1 - i)) & 1) result = (result * powers[i]) >> kFraction;
  }
  const std::uint64_t whole = exponent >> kFraction;
  return whole > kFraction ? 0 : result >> whole;
}

}  // namespace

ZipfDistribution::ZipfDistribution(std::uint64_t count, std::uint32_t exponent_thousandths) {
  const auto powers = half_powers();
  cumulative_.reserve(count);
  std::uint64_t sum = 0;
  for (std::uint64_t rank = 1; rank <= count; ++rank) {
    const std::uint64_t exponent = log2_fixed(rank) * exponent_thousandths / 1000;
    sum += std::max<std::uint64_t>(1, exp2_negative(exponent, powers));
    cumulative_.push_back(sum);
  }
}

std::uint64_t ZipfDistribution::draw(Random& random) const {
  const std::uint64_t point = random.below(cumulative_.back());
  return static_cast<std::uint64_t>(std::upper_bound(cumulative_.begin(), cumulative_.end(), point) -
                                    cumulative_.begin());
}

std::uint64_t ZipfDistribution::weight(std::uint64_t rank) const {
  return cumulative_[rank] - (rank == 0 ? 0 : cumulative_[rank - 1]);
}

}  // namespace uvmsim::trace
