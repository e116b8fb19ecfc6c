// SPDX-License-Identifier: Apache-2.0
#include "sim/gmmu/walk_cache.h"

#include <gtest/gtest.h>

namespace uvmsim::gmmu {
namespace {

std::uint32_t walk(WalkCache& cache, std::uint64_t block, unsigned page, EntrySize size) {
  const BlockIndex b(block);
  return cache.walk(b, TlbTag::make(b, page, size), TlbTag::page_bit(b, page, size));
}

TEST(WalkCache, ReadsEveryLevelWithoutACache) {
  WalkCache hopper(0, 6, 5), turing(0, 5, 4);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(walk(hopper, 1, 0, EntrySize::k4K), 6u);
    EXPECT_EQ(walk(hopper, 1, 0, EntrySize::k64K), 6u);
    EXPECT_EQ(walk(hopper, 1, 0, EntrySize::k2M), 5u);
    EXPECT_EQ(walk(turing, 1, 0, EntrySize::k4K), 5u);
    EXPECT_EQ(walk(turing, 1, 0, EntrySize::k2M), 4u);
  }
}

TEST(WalkCache, StartsAtTheLowestCachedLevel) {
  WalkCache cache(128, 6, 5);
  EXPECT_EQ(walk(cache, 0, 0, EntrySize::k4K), 6u);
  EXPECT_EQ(walk(cache, 0, 15, EntrySize::k4K), 0u);   // same line of 4 KB entries
  EXPECT_EQ(walk(cache, 0, 16, EntrySize::k4K), 1u);   // next line of the same table
  EXPECT_EQ(walk(cache, 0, 0, EntrySize::k64K), 1u);   // the block's other table
  EXPECT_EQ(walk(cache, 15, 0, EntrySize::k64K), 1u);  // a neighbour: its directory entry shares the line
  EXPECT_EQ(walk(cache, 16, 0, EntrySize::k64K), 2u);  // next line of block entries
  EXPECT_EQ(walk(cache, 16, 0, EntrySize::k2M), 1u);   // 2 MB translations of these blocks; level 2 is cached
  EXPECT_EQ(walk(cache, 31, 0, EntrySize::k2M), 0u);
  EXPECT_EQ(walk(cache, 256 * 16, 0, EntrySize::k2M), 2u);        // beyond 8 GB: next line of level 2
  EXPECT_EQ(walk(cache, 256 * 512 * 16, 0, EntrySize::k2M), 3u);  // beyond 4 TB
  EXPECT_EQ(walk(cache, 256 * 512 * 16, 0, EntrySize::k4K), 2u);
}

TEST(WalkCache, TuringHasOneLevelLess) {
  WalkCache cache(128, 5, 4);
  EXPECT_EQ(walk(cache, 0, 0, EntrySize::k2M), 4u);
  EXPECT_EQ(walk(cache, 16, 0, EntrySize::k2M), 1u);
  EXPECT_EQ(walk(cache, 0, 0, EntrySize::k4K), 2u);
}

TEST(WalkCache, InvalidatesPagesOfALine) {
  WalkCache cache(128, 6, 5);
  walk(cache, 0, 0, EntrySize::k4K);
  EXPECT_TRUE(cache.may_hold(BlockIndex(0), EntrySize::k4K));
  const TlbTag tag = TlbTag::make(BlockIndex(0), 3, EntrySize::k4K);
  cache.invalidate(tag, 1u << 3);
  EXPECT_EQ(walk(cache, 0, 4, EntrySize::k4K), 0u);
  EXPECT_EQ(walk(cache, 0, 3, EntrySize::k4K), 1u);
  EXPECT_EQ(walk(cache, 0, 3, EntrySize::k4K), 0u);
  cache.invalidate(tag, kAllPages);
  EXPECT_FALSE(cache.may_hold(BlockIndex(0), EntrySize::k4K));
}

TEST(WalkCache, CountsStayExactThroughReplacement) {
  WalkCache cache(32, 6, 5);
  for (std::uint64_t block = 0; block < 4000; ++block) {
    for (unsigned page = 0; page < kPagesPerBlock; page += 16) walk(cache, block, page, EntrySize::k4K);
  }
  unsigned held = 0;
  for (std::uint64_t block = 0; block < 4000; ++block) {
    held += cache.may_hold(BlockIndex(block), EntrySize::k4K) ? 1 : 0;
  }
  EXPECT_GE(held, 1u);
  EXPECT_LE(held, 2u);  // 32 lines, some of them directories: one block's table is 32 lines
}

}  // namespace
}  // namespace uvmsim::gmmu
