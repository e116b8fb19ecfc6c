// SPDX-License-Identifier: Apache-2.0
// Draws ranks whose popularity falls with rank^-alpha, from up to 2^62 ranks, with a table of some 10,000 entries.
//
// The first 1024 ranks have an entry each; each further entry covers up to 1/256 of its first rank in ranks, which are
// equally likely within it (off by at most 0.3 % for alpha up to 1.5). Only integers are used: results are the same on
// every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/common/random.h"

namespace uvmsim::recommend {

class ZipfRanks {
 public:
  // The range of FBGEMM's generator (numpy.random.zipf), less one bit.
  static constexpr std::uint64_t kEndless = std::uint64_t{1} << 62;

  // Draws ranks 1 to `last`, 1 <= last <= kEndless. For an alpha up to 1 every rank is equally likely, and `last` is
  // needed.
  ZipfRanks(std::uint32_t alpha_thousandths, std::uint64_t last);

  std::uint64_t draw(Random& random) const;

  // The probability of drawing a rank up to this one, which must end an entry; for tests.
  double share_up_to(std::uint64_t rank) const;

 private:
  std::vector<std::uint64_t> first_;       // first rank of each entry; ends with last + 1
  std::vector<std::uint64_t> cumulative_;  // weight up to the end of each entry
};

}  // namespace uvmsim::recommend
