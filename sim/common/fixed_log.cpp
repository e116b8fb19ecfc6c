// SPDX-License-Identifier: Apache-2.0
#include "sim/common/fixed_log.h"

#include <array>
#include <bit>

namespace uvmsim {

namespace {

constexpr std::uint64_t kOne = std::uint64_t{1} << kLogFraction;  // products of numbers below 2 fit into 62 bits

// 2^(1/2), 2^(1/4), 2^(1/8), ...
constexpr std::array<std::uint64_t, kLogFraction> kRoots = [] {
  std::array<std::uint64_t, kLogFraction> out{};
  std::uint64_t power = 2 * kOne;
  for (auto& entry : out) {
    power = integer_sqrt(power << kLogFraction);
    entry = power;
  }
  return out;
}();

}  // namespace

std::uint64_t log2_fixed(std::uint64_t value) {
  const auto whole = static_cast<unsigned>(std::bit_width(value) - 1);
  std::uint64_t mantissa = whole >= kLogFraction ? value >> (whole - kLogFraction) : value << (kLogFraction - whole);
  std::uint64_t log = 0;
  for (unsigned bit = 0; bit < kLogFraction; ++bit) {
    mantissa = (mantissa * mantissa) >> kLogFraction;  // squaring doubles the logarithm
    log <<= 1;
    if (mantissa >= 2 * kOne) {
      mantissa >>= 1;
      log |= 1;
    }
  }
  return (static_cast<std::uint64_t>(whole) << kLogFraction) | log;
}

std::uint64_t exp2_fixed(std::int64_t exponent, unsigned scale) {
  const std::int64_t whole = (exponent >> kLogFraction) + static_cast<std::int64_t>(scale);
  const auto fraction = static_cast<std::uint64_t>(exponent) & (kOne - 1);
  std::uint64_t mantissa = kOne;
  for (unsigned i = 0; i < kLogFraction; ++i) {
    if ((fraction >> (kLogFraction - 1 - i)) & 1) mantissa = (mantissa * kRoots[i]) >> kLogFraction;
  }
  const std::int64_t shift = whole - static_cast<std::int64_t>(kLogFraction);
  if (shift >= 0) return mantissa << shift;
  return shift <= -64 ? 0 : mantissa >> -shift;
}

}  // namespace uvmsim
