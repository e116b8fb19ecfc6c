// SPDX-License-Identifier: Apache-2.0
// A pseudo-random bijection of the rows of a table that needs no table: a Feistel network over just enough bits,
// iterated until the result is a row again (Black and Rogaway, CT-RSA 2002).
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "sim/common/random.h"

namespace uvmsim::recommend {

class RowPermutation {
 public:
  // Requires 1 <= rows < 2^63.
  RowPermutation(std::uint64_t rows, std::uint64_t seed) : rows_(rows) {
    const auto bits = static_cast<unsigned>(std::bit_width(rows - 1));
    right_ = bits - bits / 2;
    right_mask_ = (std::uint64_t{1} << right_) - 1;
    left_mask_ = (std::uint64_t{1} << bits / 2) - 1;
    Random random(seed);
    for (std::uint64_t& key : keys_) key = random.next();
  }

  // row < rows
  std::uint64_t operator()(std::uint64_t row) const {
    do {
      row = once(row);
    } while (row >= rows_);
    return row;
  }

 private:
  std::uint64_t once(std::uint64_t value) const {
    std::uint64_t left = value >> right_, right = value & right_mask_;
    for (std::size_t round = 0; round < keys_.size(); round += 2) {
      left ^= Random(keys_[round] ^ right).next() & left_mask_;
      right ^= Random(keys_[round + 1] ^ left).next() & right_mask_;
    }
    return left << right_ | right;
  }

  std::uint64_t rows_, left_mask_, right_mask_;
  unsigned right_;
  std::array<std::uint64_t, 4> keys_;
};

}  // namespace uvmsim::recommend
