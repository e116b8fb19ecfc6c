// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/block_list.h"

#include <gtest/gtest.h>

#include <vector>

#include "sim/common/random.h"

namespace uvmsim::layout {
namespace {

std::vector<std::uint64_t> blocks_of(const BlockList& list) {
  std::vector<std::uint64_t> blocks;
  list.for_each_run([&](const BlockList::Run& run) {
    EXPECT_EQ(run.at, blocks.size());
    for (std::uint64_t i = 0; i < run.count; ++i) blocks.push_back(run.first.value + i);
  });
  return blocks;
}

TEST(BlockList, NeighboursAreOneRun) {
  BlockList list(BlockIndex(5), 3);
  list.append(BlockIndex(8), 2);
  list.append(BlockIndex(3), 1);
  std::size_t runs = 0;
  list.for_each_run([&](const BlockList::Run&) { ++runs; });
  EXPECT_EQ(runs, 2u);
  EXPECT_EQ(list.size(), 6u);
  EXPECT_EQ(list.front(), BlockIndex(5));
  EXPECT_EQ(list[4], BlockIndex(9));
  EXPECT_EQ(list[5], BlockIndex(3));
  EXPECT_TRUE(BlockList().empty());
}

// A reference list: a vector of blocks.
TEST(BlockList, IsLikeAVector) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    BlockList list;
    std::vector<std::uint64_t> expected;
    for (int step = 0; step < 30; ++step) {
      const std::uint64_t first = random.below(20), count = 1 + random.below(4);
      const std::uint64_t at = random.below(3) == 0 ? random.below(expected.size() + 1) : expected.size();
      if (at == expected.size() && random.below(2) == 0) {
        list.append(BlockIndex(first), count);
      } else {
        list.set(at, BlockIndex(first), count);
      }
      if (expected.size() < at + count) expected.resize(at + count);
      for (std::uint64_t i = 0; i < count; ++i) expected[at + i] = first + i;
      ASSERT_EQ(blocks_of(list), expected) << seed;
      for (std::uint64_t i = 0; i < expected.size(); ++i) ASSERT_EQ(list[i].value, expected[i]) << seed;
      const std::uint64_t begin = random.below(expected.size()), length = random.below(expected.size() - begin + 1);
      const std::vector<std::uint64_t> part(expected.begin() + static_cast<std::ptrdiff_t>(begin),
                                            expected.begin() + static_cast<std::ptrdiff_t>(begin + length));
      ASSERT_EQ(blocks_of(list.part(begin, length)), part) << seed;
    }
  }
}

// Memory of a reservation appears behind a gap.
TEST(BlockList, WhatLiesBehindAGapIsWhereItWasSet) {
  BlockList list;
  list.set(4, BlockIndex(70), 2);
  EXPECT_EQ(list.size(), 6u);
  EXPECT_EQ(list[4], BlockIndex(70));
  EXPECT_EQ(list[5], BlockIndex(71));
  list.set(0, BlockIndex(9), 4);
  EXPECT_EQ(blocks_of(list), (std::vector<std::uint64_t>{9, 10, 11, 12, 70, 71}));
}

}  // namespace
}  // namespace uvmsim::layout
