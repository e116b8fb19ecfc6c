// SPDX-License-Identifier: Apache-2.0
// Aligns two sequences: the longest common subsequence by E. W. Myers' O(ND) algorithm in linear space ("An O(ND)
// difference algorithm and its variations", Algorithmica 1, 1986).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace uvmtrace {

struct Alignment {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  // positions in a and b, both ascending
  // False if the search was given up because the sequences differ too much: then only equal parts at the front and the
  // back are paired.
  bool whole = true;
};

Alignment align(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b);

// Aligns the longest ends of a and b of which at least `thousandths` (of the longer one) are common. Parts before them
// may differ and are left alone. Returns no pairs if there are no such ends.
Alignment align_ends_of(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b,
                        std::uint32_t thousandths);

}  // namespace uvmtrace
