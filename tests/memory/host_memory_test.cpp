// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/host_memory.h"

#include <gtest/gtest.h>

#include <list>
#include <map>
#include <set>

#include "sim/common/random.h"

namespace uvmsim {
namespace {

constexpr BlockIndex kNobody(1000000);
PageMask range(unsigned first, unsigned count) { return PageMask::range(first, count); }

TEST(HostMemory, WithoutALimitKeepsNothing) {
  HostMemory memory(0, kBlockBytes);
  EXPECT_FALSE(memory.limited());
  memory.use(BlockIndex(7), PageMask::all());
  memory.drop_saved(BlockIndex(7), PageMask::all());
  EXPECT_TRUE(memory.swapped(BlockIndex(7), PageMask::all()).empty());
}

TEST(HostMemory, TheUnitUsedLongestAgoIsTheColdest) {
  HostMemory memory(16 * kBlockBytes, kBigPageBytes);
  memory.add(BlockIndex(0), range(0, 20));  // units 0 and 1 of block 0
  memory.add(BlockIndex(3), range(32, 1));
  memory.add(BlockIndex(0), range(30, 2));  // unit 1 again
  const auto coldest = [&](BlockIndex spared) { return memory.coldest(spared); };
  EXPECT_EQ(coldest(kNobody)->block, BlockIndex(0));
  EXPECT_EQ(coldest(kNobody)->pages, range(0, 16));
  EXPECT_EQ(coldest(BlockIndex(0))->block, BlockIndex(3));
  memory.use(BlockIndex(0), range(3, 1));
  EXPECT_EQ(coldest(kNobody)->block, BlockIndex(3));
  memory.remove(BlockIndex(3), PageMask::all());
  EXPECT_EQ(coldest(kNobody)->pages, range(16, 4) | range(30, 2));
  EXPECT_FALSE(coldest(BlockIndex(0)).has_value());
  EXPECT_EQ(memory.used_pages(), 22u);
}

TEST(HostMemory, PagesAreSwappedWhenTheyLieOnTheSsdAlone) {
  HostMemory memory(kBlockBytes, kBasePageBytes);
  memory.add(BlockIndex(1), range(0, 8));
  memory.save(BlockIndex(1), range(0, 4));
  EXPECT_TRUE(memory.swapped(BlockIndex(1), range(0, 8)).empty());
  memory.remove(BlockIndex(1), range(2, 2));
  EXPECT_EQ(memory.swapped(BlockIndex(1), range(0, 8)), range(2, 2));
  memory.drop_saved(BlockIndex(1), range(0, 2));
  EXPECT_EQ(memory.saved(BlockIndex(1)), range(2, 2));
  EXPECT_EQ(memory.saved_pages(), 2u);
}

TEST(HostMemory, WholeUnits) {
  EXPECT_EQ(HostMemory(kBlockBytes, kBasePageBytes).whole_units(range(5, 3)), range(5, 3));
  EXPECT_EQ(HostMemory(kBlockBytes, kBigPageBytes).whole_units(range(15, 2)), range(0, 32));
  EXPECT_EQ(HostMemory(kBlockBytes, kBlockBytes).whole_units(range(511, 1)), PageMask::all());
  EXPECT_TRUE(HostMemory(kBlockBytes, kBlockBytes).whole_units({}).empty());
}

// Compares with a model of lists and sets, for units of every size.
TEST(HostMemory, AgreesWithAPlainModel) {
  for (const std::uint64_t unit_bytes : {kBasePageBytes, kBigPageBytes, kBlockBytes}) {
    const auto unit_pages = static_cast<unsigned>(unit_bytes / kBasePageBytes);
    HostMemory memory(8 * kBlockBytes, unit_bytes);
    std::list<std::pair<std::uint64_t, unsigned>> order;  // block, unit; oldest first
    std::map<std::uint64_t, std::set<unsigned>> held;
    Random random(unit_bytes);
    const auto refresh = [&](std::uint64_t b, const PageMask& pages) {
      std::set<unsigned> units;
      pages.for_each([&](unsigned page) { units.insert(page / unit_pages); });
      for (const unsigned unit : units) {
        order.remove({b, unit});
        order.emplace_back(b, unit);
      }
    };
    for (int step = 0; step < 3000; ++step) {
      const std::uint64_t b = random.below(6);
      const auto first = static_cast<unsigned>(random.below(kPagesPerBlock));
      PageMask pages = range(first, static_cast<unsigned>(1 + random.below(kPagesPerBlock - first)));
      switch (random.below(3)) {
        case 0:
          pages -= memory.in_memory(BlockIndex(b));
          memory.add(BlockIndex(b), pages);
          pages.for_each([&](unsigned page) { held[b].insert(page); });
          refresh(b, pages);
          break;
        case 1:
          memory.use(BlockIndex(b), pages);
          refresh(b, memory.in_memory(BlockIndex(b)) & pages);
          break;
        default:
          memory.remove(BlockIndex(b), pages);
          pages.for_each([&](unsigned page) { held[b].erase(page); });
          order.remove_if([&](const auto& entry) {
            return entry.first == b &&
                   (memory.in_memory(BlockIndex(b)) & range(entry.second * unit_pages, unit_pages)).empty();
          });
      }
      std::uint64_t used = 0;
      for (const auto& [block, there] : held) {
        used += there.size();
        ASSERT_EQ(memory.in_memory(BlockIndex(block)).count(), there.size());
      }
      ASSERT_EQ(memory.used_pages(), used);
      const auto coldest = memory.coldest(kNobody);
      ASSERT_EQ(coldest.has_value(), !order.empty());
      if (!coldest) continue;
      ASSERT_EQ(coldest->block.value, order.front().first);
      ASSERT_EQ(coldest->pages.next_set(0) / unit_pages, order.front().second);
    }
  }
}

}  // namespace
}  // namespace uvmsim
