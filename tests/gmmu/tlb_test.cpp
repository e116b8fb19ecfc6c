// SPDX-License-Identifier: Apache-2.0
#include "sim/gmmu/tlb.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <set>

#include "sim/common/random.h"
#include "sim/gmmu/small_entry_count.h"

namespace uvmsim::gmmu {
namespace {

bool access(Tlb& tlb, std::uint64_t index) {
  const std::uint64_t tag = index + 1;
  if (tlb.touch(index, tag) != 0) return true;
  tlb.fill(index, tag, kAllPages);
  return false;
}

TEST(TlbTag, NamesEveryGroupOnce) {
  std::set<std::uint64_t> tags;
  for (std::uint64_t block : {std::uint64_t{0}, std::uint64_t{16}, (std::uint64_t{1} << 36) - 1}) {
    for (unsigned page = 0; page < kPagesPerBlock; page += 16) {
      tags.insert(TlbTag::make(BlockIndex(block), page, EntrySize::k4K).bits);
      tags.insert(TlbTag::make(BlockIndex(block), page, EntrySize::k64K).bits);
      tags.insert(TlbTag::make(BlockIndex(block), page, EntrySize::k2M).bits);
    }
  }
  EXPECT_EQ(tags.size(), 3u * (32 + 2 + 1));
  EXPECT_LT(*tags.rbegin(), std::uint64_t{1} << 48);
  EXPECT_GT(*tags.begin(), 0u);
}

TEST(TlbTag, GroupsAreSixteenAlignedPages) {
  const BlockIndex block(35);
  EXPECT_EQ(TlbTag::make(block, 16, EntrySize::k4K), TlbTag::make(block, 31, EntrySize::k4K));
  EXPECT_NE(TlbTag::make(block, 15, EntrySize::k4K), TlbTag::make(block, 16, EntrySize::k4K));
  EXPECT_EQ(TlbTag::make(block, 0, EntrySize::k64K), TlbTag::make(block, 255, EntrySize::k64K));
  EXPECT_NE(TlbTag::make(block, 255, EntrySize::k64K), TlbTag::make(block, 256, EntrySize::k64K));
  EXPECT_EQ(TlbTag::make(block, 0, EntrySize::k2M), TlbTag::make(BlockIndex(47), 511, EntrySize::k2M));
  EXPECT_NE(TlbTag::make(block, 0, EntrySize::k2M), TlbTag::make(BlockIndex(31), 0, EntrySize::k2M));
  EXPECT_EQ(TlbTag::page_bit(block, 17, EntrySize::k4K), 2);
  EXPECT_EQ(TlbTag::page_bit(block, 17, EntrySize::k64K), 2);
  EXPECT_EQ(TlbTag::page_bit(block, 17, EntrySize::k2M), 8);
}

TEST(Tlb, CyclicScanHitsAlwaysOrNever) {
  for (const std::uint64_t footprint : {16u, 17u}) {
    Tlb tlb(16, 16);
    for (std::uint64_t i = 0; i < footprint; ++i) EXPECT_FALSE(access(tlb, i));
    for (std::uint64_t i = 0; i < 5 * footprint; ++i) EXPECT_EQ(access(tlb, i % footprint), footprint == 16);
  }
}

TEST(Tlb, MatchesALeastRecentlyUsedListPerSet) {
  for (const auto& [entries, ways] : {std::pair{64u, 4u}, {24u, 3u}, {12u, 1u}, {5u, 5u}, {48u, 16u}}) {
    Tlb tlb(entries, ways);
    std::map<std::uint64_t, std::list<std::uint64_t>> sets;  // newest first
    const std::uint32_t set_count = entries / ways;
    const bool folds = (set_count & (set_count - 1)) == 0;
    std::uint64_t shift = 0;
    while ((1u << shift) < set_count) ++shift;
    Random random(entries);
    for (int i = 0; i < 20000; ++i) {
      const std::uint64_t index = random.below(3 * entries);
      const std::uint64_t set =
          folds && shift > 0 ? (index ^ (index >> shift) ^ (index >> (2 * shift))) % set_count : index % set_count;
      auto& list = sets[set];
      const auto found = std::find(list.begin(), list.end(), index);
      const bool hit = found != list.end();
      if (random.below(10) == 0) {
        EXPECT_EQ(tlb.erase(index, index + 1, kAllPages), hit);
        if (hit) list.erase(found);
        continue;
      }
      ASSERT_EQ(access(tlb, index), hit) << i;
      if (hit) list.erase(found);
      list.push_front(index);
      if (list.size() > ways) list.pop_back();
    }
  }
}

TEST(Tlb, EveryPowerOfTwoStrideReachesAllEntries) {
  for (unsigned shift = 0; shift <= 10; ++shift) {
    Tlb tlb(2048, 16);
    unsigned hits = 0;
    for (int round = 0; round < 2; ++round) {
      for (std::uint64_t i = 0; i < 2048; ++i) hits += access(tlb, i << shift) ? 1 : 0;
    }
    EXPECT_EQ(hits, 2048u) << "stride " << (1u << shift);
  }
}

TEST(Tlb, PagesOfAnEntryComeAndGoOneByOne) {
  Tlb tlb(4, 4);
  EXPECT_EQ(tlb.touch(0, 9), 0);
  EXPECT_EQ(tlb.fill(0, 9, 0x00ff), 0u);
  EXPECT_EQ(tlb.touch(0, 9), 0x00ff);
  tlb.fill(0, 9, 0x0f00);
  EXPECT_EQ(tlb.touch(0, 9), 0x0fff);
  EXPECT_FALSE(tlb.erase(0, 9, 0x00f0));
  EXPECT_EQ(tlb.touch(0, 9), 0x0f0f);
  EXPECT_TRUE(tlb.erase(0, 9, 0xffff));
  EXPECT_EQ(tlb.touch(0, 9), 0);
  EXPECT_FALSE(tlb.erase(0, 9, 0xffff));
}

TEST(Tlb, ReportsTheVictim) {
  Tlb tlb(2, 2);
  EXPECT_EQ(tlb.fill(0, 1, 1), 0u);
  EXPECT_EQ(tlb.fill(0, 2, 1), 0u);
  tlb.touch(0, 1);
  EXPECT_EQ(tlb.fill(0, 3, 1), 2u);
}

TEST(SmallEntryCount, KnowsBlocksBySizeOfEntry) {
  SmallEntryCount count;
  const TlbTag base = TlbTag::make(BlockIndex(7), 500, EntrySize::k4K);
  const TlbTag big = TlbTag::make(BlockIndex(7), 500, EntrySize::k64K);
  count.added(TlbTag::make(BlockIndex(7), 0, EntrySize::k2M).bits);
  count.added(0);
  EXPECT_FALSE(count.any(BlockIndex(7), EntrySize::k4K));
  EXPECT_FALSE(count.any(BlockIndex(7), EntrySize::k64K));
  count.added(base.bits);
  EXPECT_TRUE(count.any(BlockIndex(7), EntrySize::k4K));
  EXPECT_FALSE(count.any(BlockIndex(7), EntrySize::k64K));
  count.added(big.bits);
  count.removed(base.bits);
  EXPECT_FALSE(count.any(BlockIndex(7), EntrySize::k4K));
  EXPECT_TRUE(count.any(BlockIndex(7), EntrySize::k64K));
  EXPECT_FALSE(count.any(BlockIndex(8), EntrySize::k64K));
}

}  // namespace
}  // namespace uvmsim::gmmu
