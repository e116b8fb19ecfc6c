// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/row_permutation.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace uvmsim::recommend {
namespace {

TEST(RowPermutation, IsABijection) {
  for (const std::uint64_t rows : {1u, 2u, 3u, 4u, 5u, 31u, 64u, 65u, 1000u, 65536u, 100003u}) {
    for (const std::uint64_t seed : {1u, 2u}) {
      const RowPermutation permutation(rows, seed);
      std::vector<bool> seen(rows);
      for (std::uint64_t row = 0; row < rows; ++row) {
        const std::uint64_t image = permutation(row);
        ASSERT_LT(image, rows);
        ASSERT_FALSE(seen[image]) << rows << " rows, seed " << seed;
        seen[image] = true;
      }
    }
  }
}

// Hot rows are neighbours by rank and far apart in memory: of the 1000 hottest of 40 million rows of 512 bytes hardly
// two share a 2 MB block.
TEST(RowPermutation, ScattersNeighbours) {
  const RowPermutation permutation(40000000, 5);
  std::set<std::uint64_t> blocks;
  for (std::uint64_t row = 0; row < 1000; ++row) blocks.insert(permutation(row) / 4096);
  EXPECT_GT(blocks.size(), 930u);  // 9766 blocks, of which 951 on average are hit
}

TEST(RowPermutation, DependsOnTheSeed) {
  const RowPermutation a(1000, 1), b(1000, 2);
  int same = 0;
  for (std::uint64_t row = 0; row < 1000; ++row) same += a(row) == b(row) ? 1 : 0;
  EXPECT_LT(same, 10);
}

// The table has 2^40 rows, too many to store their permutation.
TEST(RowPermutation, WorksOnTablesThatNobodyCouldHold) {
  const RowPermutation permutation((std::uint64_t{1} << 40) - 5, 3);
  std::set<std::uint64_t> images;
  for (std::uint64_t row = 0; row < 10000; ++row) images.insert(permutation(row));
  EXPECT_EQ(images.size(), 10000u);
}

}  // namespace
}  // namespace uvmsim::recommend
