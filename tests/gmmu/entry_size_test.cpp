// SPDX-License-Identifier: Apache-2.0
#include "sim/gmmu/entry_size.h"

#include <gtest/gtest.h>

#include "sim/common/random.h"

namespace uvmsim::gmmu {
namespace {

EntrySizes choose(const PageMask& mapped, const PageMask& writable = {}) {
  return choose_entry_sizes(mapped, writable, kPagesPerBlock, EntrySize::k2M);
}

TEST(EntrySize, WholeBlockWithOnePermissionIsOneEntry) {
  EXPECT_TRUE(choose(PageMask::all()).whole_block);
  EXPECT_TRUE(choose(PageMask::all(), PageMask::all()).whole_block);
}

TEST(EntrySize, AMissingPageCostsTheWholeEntryAndItsOwnUnit) {
  PageMask mapped = PageMask::all();
  mapped.reset(37);
  const EntrySizes sizes = choose(mapped, mapped);
  EXPECT_FALSE(sizes.whole_block);
  EXPECT_EQ(sizes.big_pages, ~(1u << 2));
  EXPECT_EQ(sizes.of(31), EntrySize::k64K);
  EXPECT_EQ(sizes.of(32), EntrySize::k4K);
  EXPECT_EQ(sizes.of(48), EntrySize::k64K);
}

TEST(EntrySize, APageOfAnotherPermissionCostsTheSame) {
  PageMask writable;
  writable.set(511);
  const EntrySizes sizes = choose(PageMask::all(), writable);
  EXPECT_EQ(sizes, (EntrySizes{false, 0x7fffffff}));
}

TEST(EntrySize, UnitsOfDifferentPermissionsStayBig) {
  EXPECT_EQ(choose(PageMask::all(), PageMask::range(0, 256)), (EntrySizes{false, 0xffffffff}));
}

TEST(EntrySize, TailBlocksNeverGetWholeEntries) {
  const PageMask all = PageMask::range(0, 300);
  EXPECT_EQ(choose_entry_sizes(all, all, 300, EntrySize::k2M), (EntrySizes{false, 0x3ffff}));  // 18 units and 12 pages
}

TEST(EntrySize, PhysicalContiguityLimitsTheSize) {
  const PageMask all = PageMask::all();
  EXPECT_EQ(choose_entry_sizes(all, all, kPagesPerBlock, EntrySize::k64K), EntrySizes::all(EntrySize::k64K));
  EXPECT_EQ(choose_entry_sizes(all, all, kPagesPerBlock, EntrySize::k4K), EntrySizes::all(EntrySize::k4K));
}

TEST(EntrySize, AgreesWithTheRulePageByPage) {
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    PageMask mapped, writable;
    for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
      const std::uint64_t kind = random.below(5);
      for (unsigned page = unit * 16; page < unit * 16 + 16; ++page) {
        const bool map = kind < 3 || (kind == 3 && random.below(2) != 0);
        const bool write = kind == 1 || (kind == 2 && random.below(2) != 0);
        if (map) mapped.set(page);
        if (map && write) writable.set(page);
      }
    }
    const EntrySizes sizes = choose(mapped, writable);
    for (unsigned page = 0; page < kPagesPerBlock; ++page) {
      bool same = true;
      for (unsigned other = page & ~15u; other < (page & ~15u) + 16; ++other) {
        same = same && mapped.test(other) && writable.test(other) == writable.test(page);
      }
      ASSERT_EQ(sizes.of(page), same ? EntrySize::k64K : EntrySize::k4K) << page;
    }
  }
}

}  // namespace
}  // namespace uvmsim::gmmu
