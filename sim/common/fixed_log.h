// SPDX-License-Identifier: Apache-2.0
// Logarithms and powers in integers, so that they are the same on every machine. Fixed point with 30 fraction bits.
#pragma once

#include <cstdint>

namespace uvmsim {

inline constexpr unsigned kLogFraction = 30;

// The largest integer whose square is at most `value`, below 2^32.
constexpr std::uint64_t integer_sqrt(std::uint64_t value) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 31; bit != 0; bit >>= 1) {
    if ((root | bit) * (root | bit) <= value) root |= bit;
  }
  return root;
}

// log2 of an integer >= 1.
std::uint64_t log2_fixed(std::uint64_t value);
// 2^exponent * 2^scale, rounded down, to 30 significant bits; the result must be below 2^64 (0 where it is below 1).
std::uint64_t exp2_fixed(std::int64_t exponent, unsigned scale);

}  // namespace uvmsim
