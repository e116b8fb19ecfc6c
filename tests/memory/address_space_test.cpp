// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/address_space.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "sim/common/check.h"
#include "sim/common/random.h"

namespace uvmsim {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(AddressSpace, CutsARangeIntoBlocksAndKnowsItsRaggedEnd) {
  AddressSpace space(1);
  const BlockIndex first = space.allocate(0, 5 * kMiB + 1);
  EXPECT_EQ(first.value, 0u);
  EXPECT_EQ(space.block_count(), 3u);
  EXPECT_TRUE(space.block(BlockIndex(0)).full_size());
  EXPECT_TRUE(space.block(BlockIndex(1)).full_size());
  // 1 MiB and one byte: 257 pages.
  EXPECT_EQ(space.block(BlockIndex(2)).extent(), PageMask::range(0, 257));
  EXPECT_FALSE(space.block(BlockIndex(2)).full_size());
}

TEST(AddressSpace, ARangeMayStartInsideABlock) {
  AddressSpace space(1);
  const BlockIndex first = space.allocate(kMiB, 2 * kMiB);
  EXPECT_EQ(space.block(first).extent(), PageMask::range(256, 256));
  EXPECT_EQ(space.block(BlockIndex(first.value + 1)).extent(), PageMask::range(0, 256));
}

TEST(AddressSpace, FreedRangesAreReusedLowestFirst) {
  AddressSpace space(1);
  const BlockIndex a = space.allocate(0, 4 * kMiB);  // blocks 0, 1
  const BlockIndex b = space.allocate(0, 2 * kMiB);  // 2
  const BlockIndex c = space.allocate(0, 4 * kMiB);  // 3, 4
  space.allocate(0, 2 * kMiB);                       // 5
  space.free(c, 2);
  space.free(a, 2);
  EXPECT_EQ(space.allocate(0, 2 * kMiB), a);                  // splits the lower hole
  EXPECT_EQ(space.allocate(0, 4 * kMiB), c);                  // does not fit into the rest of the hole
  EXPECT_EQ(space.allocate(0, 2 * kMiB).value, a.value + 1);  // fits into it
  EXPECT_EQ(space.block_count(), 6u);                         // the space did not grow
  space.free(b, 1);
  EXPECT_EQ(space.allocate(0, 4 * kMiB).value, 6u);
}

TEST(AddressSpace, NeighbouringHolesJoinOnBothSides) {
  AddressSpace space(1);
  for (int i = 0; i < 4; ++i) space.allocate(0, 2 * kMiB);
  space.free(BlockIndex(0), 1);
  space.free(BlockIndex(2), 1);
  space.free(BlockIndex(1), 1);  // closes the gap
  EXPECT_EQ(space.allocate(0, 6 * kMiB).value, 0u);
  EXPECT_EQ(space.block_count(), 4u);
}

TEST(AddressSpace, AFreedBlockForgetsEverything) {
  AddressSpace space(2);
  const BlockIndex b = space.allocate(0, 2 * kMiB);
  space.block(b).hints.read_mostly = true;
  space.block(b).evicted.set(3);
  space.pages(b, gpu_processor(1)).mapped.set(7);
  space.free(b, 1);
  EXPECT_FALSE(space.block(b).live);
  EXPECT_EQ(space.allocate(0, 2 * kMiB), b);
  EXPECT_FALSE(space.block(b).hints.any());
  EXPECT_TRUE(space.block(b).evicted.empty());
  EXPECT_TRUE(space.pages(b, gpu_processor(1)).mapped.empty());
}

TEST(AddressSpace, PagesAreKeptPerProcessor) {
  AddressSpace space(2);
  space.allocate(0, 4 * kMiB);
  const BlockIndex b(1);
  space.pages(b, kHost).resident.set(1);
  space.pages(b, gpu_processor(1)).resident.set(2);
  EXPECT_EQ(space.processor_count(), 3u);
  EXPECT_TRUE(space.pages(b, gpu_processor(0)).resident.empty());
  EXPECT_EQ(space.resident_anywhere(b), PageMask::range(1, 2));
  EXPECT_TRUE(space.resident_anywhere(BlockIndex(0)).empty());
}

TEST(AddressSpace, FreeingTwiceOrWithPagesIsAModelError) {
  if (!kModelChecks) GTEST_SKIP() << "built without model checks";
  AddressSpace space(1);
  const BlockIndex b = space.allocate(0, 2 * kMiB);
  space.pages(b, kHost).resident.set(0);
  EXPECT_THROW(space.free(b, 1), ModelError);
  space.pages(b, kHost).resident.clear();
  space.free(b, 1);
  EXPECT_THROW(space.free(b, 1), ModelError);
}

// A block's state is created when it is first used. Until then it takes no memory, and the block counts as freshly
// allocated.
TEST(AddressSpace, LargeRangesTakeNoMemoryUntilTheyAreUsed) {
  AddressSpace space(1);
  const std::uint64_t blocks = std::uint64_t{1} << 26;  // 2^47 bytes
  const BlockIndex first = space.allocate(12 * kBasePageBytes, blocks * kBlockBytes - 100 * kBasePageBytes);
  EXPECT_EQ(space.block_count(), blocks);
  const auto used = [&] {
    std::uint64_t count = 0;
    space.for_each_used([&](BlockIndex) { ++count; });
    return count;
  };
  EXPECT_EQ(used(), 0u);
  EXPECT_TRUE(std::as_const(space).pages(BlockIndex(blocks / 2), kHost).resident.empty());
  EXPECT_EQ(space.end_page(BlockIndex(blocks - 1)), kPagesPerBlock - 88);
  EXPECT_EQ(used(), 0u);
  const VaBlock& last = space.block(BlockIndex(blocks - 1));
  EXPECT_TRUE(last.live);
  EXPECT_EQ(last.first_page, 0);
  EXPECT_EQ(last.end_page, kPagesPerBlock - 88);
  EXPECT_EQ(last.range_first, first);
  EXPECT_EQ(last.range_blocks, blocks);
  EXPECT_EQ(space.block(first).first_page, 12);
  EXPECT_LE(used(), 32u);
  space.pages(BlockIndex(blocks / 2), gpu_processor(0)).mapped.set(3);
  EXPECT_LE(used(), 48u);
  space.pages(BlockIndex(blocks / 2), gpu_processor(0)).mapped.reset(3);
  space.free(first, blocks);
  EXPECT_FALSE(space.block(BlockIndex(blocks / 2)).live);
  EXPECT_FALSE(space.block(BlockIndex(77)).live);
}

// The reference creates every block's state at once. Frees of parts, hints on ranges and random uses give the same
// results in both.
TEST(AddressSpace, WhoAsksMakesNoDifference) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    AddressSpace lazy(1), eager(1);
    const auto look = [](AddressSpace& space) {
      for (std::uint64_t b = 0; b < space.block_count(); ++b) space.block(BlockIndex(b));
    };
    std::map<std::uint64_t, std::uint64_t> live;
    for (int step = 0; step < 200; ++step) {
      const std::uint64_t what = random.below(10);
      if (live.empty() || what < 4) {
        const std::uint64_t bytes = (1 + random.below(100)) * kBlockBytes - random.below(512) * kBasePageBytes;
        const BlockIndex first = lazy.allocate(0, bytes);
        ASSERT_EQ(eager.allocate(0, bytes), first);
        live.emplace(first.value, (bytes + kBlockBytes - 1) / kBlockBytes);
        look(eager);
        continue;
      }
      auto range = live.begin();
      std::advance(range, static_cast<std::ptrdiff_t>(random.below(live.size())));
      const auto [first, count] = *range;
      const std::uint64_t begin = random.below(count), part = 1 + random.below(count - begin);
      if (what < 6) {  // a part of it is freed
        live.erase(range);
        if (begin != 0) live.emplace(first, begin);
        if (begin + part != count) live.emplace(first + begin + part, count - begin - part);
        lazy.free(BlockIndex(first + begin), part);
        eager.free(BlockIndex(first + begin), part);
      } else if (what < 9) {
        const auto change = [](Hints& hints) { hints.accessed_by = hints.accessed_by * 3 + 1; };
        for (AddressSpace* space : {&lazy, &eager}) {
          std::vector<BlockIndex> used;
          space->for_each_used(BlockIndex(first + begin), part, [&](BlockIndex b) { used.push_back(b); });
          space->change_hints_of_unused(BlockIndex(first + begin), part, change);
          for (const BlockIndex b : used) space->change_hints(b, 0, kPagesPerBlock, change);
        }
      } else {
        lazy.block(BlockIndex(first + begin));
      }
    }
    ASSERT_EQ(lazy.block_count(), eager.block_count());
    for (std::uint64_t b = 0; b < lazy.block_count(); ++b) {
      const VaBlock &mine = lazy.block(BlockIndex(b)), &other = eager.block(BlockIndex(b));
      ASSERT_EQ(mine.live, other.live) << seed << " " << b;
      ASSERT_EQ(mine.hints, other.hints) << seed << " " << b;
      ASSERT_EQ(mine.end_page, other.end_page) << seed << " " << b;
      ASSERT_EQ(lazy.end_page(BlockIndex(b)), mine.end_page);
      ASSERT_EQ(mine.range_first, other.range_first);
      ASSERT_EQ(mine.range_blocks, other.range_blocks);
    }
  }
}

// Live ranges never overlap, and the space never grows beyond the size that first fit needs.
TEST(AddressSpace, RandomLivesNeverOverlap) {
  Random random(11);
  AddressSpace space(1);
  std::map<std::uint64_t, std::uint64_t> live;
  for (int step = 0; step < 5000; ++step) {
    if (live.empty() || random.below(5) < 3) {
      const std::uint64_t blocks = 1 + random.below(6);
      const std::uint64_t first = space.allocate(0, blocks * kBlockBytes).value;
      const auto next = live.lower_bound(first);
      if (next != live.end()) {
        ASSERT_LE(first + blocks, next->first);
      }
      if (next != live.begin()) {
        ASSERT_LE(std::prev(next)->first + std::prev(next)->second, first);
      }
      live.emplace(first, blocks);
    } else {
      auto victim = live.begin();
      std::advance(victim, static_cast<std::ptrdiff_t>(random.below(live.size())));
      space.free(BlockIndex(victim->first), victim->second);
      live.erase(victim);
    }
    if (live.size() > 40) {
      for (const auto& [first, count] : live) space.free(BlockIndex(first), count);
      live.clear();
    }
  }
  std::uint64_t alive = 0;
  for (std::uint64_t b = 0; b < space.block_count(); ++b) alive += space.block(BlockIndex(b)).live ? 1 : 0;
  std::uint64_t expected = 0;
  for (const auto& [first, count] : live) expected += count;
  EXPECT_EQ(alive, expected);
  for (const auto& [first, count] : live) space.free(BlockIndex(first), count);
  const std::uint64_t size = space.block_count();
  EXPECT_EQ(space.allocate(0, size * kBlockBytes).value, 0u);  // all holes joined into one
  EXPECT_EQ(space.block_count(), size);
}

// Each region behaves like an address space of its own that starts at the region's offset; allocations that fit no
// region lie behind all regions.
TEST(AddressSpace, RegionsAreLikeSpacesOfTheirOwn) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const std::uint64_t counts[] = {100, 700, 30};
    AddressSpace shared(1);
    shared.divide(counts);
    EXPECT_EQ(shared.begin_of(0).value, 0u);
    EXPECT_EQ(shared.begin_of(1).value, 512u);
    EXPECT_EQ(shared.begin_of(2).value, 1536u);
    AddressSpace alone[] = {AddressSpace(1), AddressSpace(1), AddressSpace(1)};
    std::vector<std::pair<BlockIndex, std::uint64_t>> live[3];
    for (int i = 0; i < 400; ++i) {
      const auto region = static_cast<unsigned>(random.below(3));
      const std::uint64_t base = shared.begin_of(region).value;
      if (random.below(3) == 0 && !live[region].empty()) {
        const std::size_t at = random.below(live[region].size());
        const auto [first, count] = live[region][at];
        live[region].erase(live[region].begin() + static_cast<std::ptrdiff_t>(at));
        alone[region].free(first, count);
        shared.free(BlockIndex(first.value + base), count, region);
        continue;
      }
      const std::uint64_t count = 1 + random.below(6);
      const BlockIndex first = alone[region].allocate(0, count * 2 * kMiB);
      if (first.value + count > counts[region]) break;
      EXPECT_EQ(shared.allocate(0, count * 2 * kMiB, region).value, first.value + base);
      live[region].emplace_back(first, count);
    }
  }
  AddressSpace full(1);
  full.divide(std::vector<std::uint64_t>{1, 2});
  EXPECT_EQ(full.allocate(0, 2 * kMiB, 0).value, 0u);
  const BlockIndex behind = full.allocate(0, 2 * kMiB, 0);
  EXPECT_EQ(behind.value, 514u);
  EXPECT_EQ(full.allocate(0, 4 * kMiB, 1).value, 512u);
  full.free(behind, 1, 0);
  EXPECT_EQ(full.allocate(0, 2 * kMiB, 0), behind);
}

}  // namespace
}  // namespace uvmsim
