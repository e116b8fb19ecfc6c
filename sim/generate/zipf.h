// SPDX-License-Identifier: Apache-2.0
// Draws Zipf-distributed numbers with integers only, so that results are the same on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/common/random.h"

namespace uvmsim::trace {

class ZipfDistribution {
 public:
  // Ranks 0 .. count - 1, rank r with a weight of (r + 1)^(-exponent_thousandths / 1000). count up to 2^32. Weights are
  // integers of 30 bits and at least 1, which lifts the far tail of steep distributions a little.
  ZipfDistribution(std::uint64_t count, std::uint32_t exponent_thousandths);

  std::uint64_t draw(Random& random) const;

  std::uint64_t weight(std::uint64_t rank) const;

 private:
  std::vector<std::uint64_t> cumulative_;  // of weights; ends with their sum
};

}  // namespace uvmsim::trace
