// SPDX-License-Identifier: Apache-2.0
#include "sim/gmmu/gmmu.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/common/error.h"
#include "sim/common/random.h"

namespace uvmsim::gmmu {
namespace {

constexpr std::int64_t kL2 = 5, kCached = 52, kRead = 280;

config::GmmuConfig small_config() {
  config::GmmuConfig c;
  c.l1_tlb_entries = 2 * kPagesPerEntry;
  c.l1_tlb_ways = 2;
  c.l2_tlb_entries = 8 * kPagesPerEntry;
  c.l2_tlb_ways = 8;
  c.walk_cache_entries = 32 * kPagesPerEntry;
  c.walkers = 4;
  c.walk_levels_4k = 6;
  c.walk_levels_2m = 5;
  c.l2_tlb_hit_ns = kL2;
  c.walk_level_ns = kRead;
  return c;
}

std::uint64_t hits_and_walks(const GmmuCounters& c) {
  return c.l1_hits_4k + c.l1_hits_64k + c.l1_hits_2m + c.l2_hits_4k + c.l2_hits_64k + c.l2_hits_2m + c.walks_4k +
         c.walks_64k + c.walks_2m;
}

// The entry sizes that map a random block; they are fixed per block.
EntrySizes sizes_of(std::uint64_t block) {
  switch (block % 4) {
    case 0:
      return EntrySizes::all(EntrySize::k2M);
    case 1:
      return EntrySizes::all(EntrySize::k64K);
    case 2:
      return EntrySizes::all(EntrySize::k4K);
    default:
      return {false, 0x00ff0f0f};
  }
}

PageMask random_pages(Random& random) {
  PageMask pages;
  const std::uint64_t runs = random.below(4) + 1;
  for (std::uint64_t i = 0; i < runs; ++i) {
    const auto first = static_cast<unsigned>(random.below(kPagesPerBlock));
    pages.set_range(first, static_cast<unsigned>(random.below(kPagesPerBlock - first) + 1));
  }
  return pages;
}

TEST(Translate, LatencyNamesTheLevelThatHit) {
  GmmuCounters counters;
  Gmmu gmmu(small_config(), 4, counters);
  const BlockIndex block(0);
  EXPECT_EQ(gmmu.translate(0, block, 0, EntrySize::k2M), Nanoseconds(kL2 + kCached + 5 * kRead));
  EXPECT_EQ(gmmu.translate(0, block, 511, EntrySize::k2M), Nanoseconds(0));
  EXPECT_EQ(gmmu.translate(0, BlockIndex(15), 0, EntrySize::k2M), Nanoseconds(0));  // the same entry
  EXPECT_EQ(gmmu.translate(1, block, 0, EntrySize::k2M), Nanoseconds(kL2));         // another SM has its own L1
  EXPECT_EQ(gmmu.translate(0, BlockIndex(16), 0, EntrySize::k2M), Nanoseconds(kL2 + kCached + kRead));
  EXPECT_EQ(counters.lookups, 5u);
  EXPECT_EQ(counters.l1_hits_2m, 2u);
  EXPECT_EQ(counters.l2_hits_2m, 1u);
  EXPECT_EQ(counters.walks_2m, 2u);
  EXPECT_EQ(counters.walk_memory_reads, 6u);
  EXPECT_EQ(counters.walk_ns, static_cast<std::uint64_t>(2 * kCached + 6 * kRead));
  EXPECT_EQ(counters.stall_ns, 0u);
}

TEST(Translate, AnEntryCoversSixteenPagesOfItsSize) {
  for (const auto& [size, pages] : {std::pair{EntrySize::k4K, 16u}, {EntrySize::k64K, 256u}}) {
    GmmuCounters counters;
    Gmmu gmmu(small_config(), 1, counters);
    EXPECT_GT(gmmu.translate(0, BlockIndex(3), 0, size), Nanoseconds(0));
    EXPECT_EQ(gmmu.translate(0, BlockIndex(3), pages - 1, size), Nanoseconds(0));
    EXPECT_GT(gmmu.translate(0, BlockIndex(3), pages, size), Nanoseconds(0));
  }
}

TEST(Translate, EvictedFromL2ButCachedByTheWalker) {
  GmmuCounters counters;
  Gmmu gmmu(small_config(), 1, counters);
  for (std::uint64_t i = 0; i < 9; ++i) gmmu.translate(0, BlockIndex(16 * i), 0, EntrySize::k2M);
  EXPECT_EQ(gmmu.translate(0, BlockIndex(0), 0, EntrySize::k2M), Nanoseconds(kL2 + kCached));
}

TEST(Touch, CountsEveryPageOnce) {
  GmmuCounters counters;
  Gmmu gmmu(small_config(), 132, counters);
  gmmu.touch(BlockIndex(1), PageMask::all(), EntrySizes::all(EntrySize::k2M), 132);
  EXPECT_EQ(counters.lookups, 512u);
  EXPECT_EQ(counters.walks_2m, 1u);
  EXPECT_EQ(counters.l1_hits_2m, 511u);
  gmmu.touch(BlockIndex(2), PageMask::range(100, 300), EntrySizes::all(EntrySize::k64K), 132);
  EXPECT_EQ(counters.lookups, 812u);
  EXPECT_EQ(counters.walks_64k, 2u);
  EXPECT_EQ(counters.l1_hits_64k, 298u);
  gmmu.touch(BlockIndex(2), PageMask::range(8, 16), EntrySizes::all(EntrySize::k4K), 1);
  EXPECT_EQ(counters.walks_4k, 2u);
  EXPECT_EQ(counters.l1_hits_4k, 14u);
  EXPECT_EQ(hits_and_walks(counters), counters.lookups);
  EXPECT_EQ(gmmu.touch(BlockIndex(2), PageMask(), EntrySizes::all(EntrySize::k4K), 1), Nanoseconds(0));
  EXPECT_EQ(counters.lookups, 828u);
}

TEST(Touch, OneSmTouchingPageByPageSeesTheSame) {
  Random random(5);
  Counters bulk_counters, exact_counters;
  Gmmu bulk(small_config(), 1, bulk_counters.gmmu), exact(small_config(), 1, exact_counters.gmmu);
  for (int i = 0; i < 3000; ++i) {
    const BlockIndex block(random.below(64));
    // Bulk touches go by entry size within each half of a block, single touches go page by page. In this test no half
    // has both sizes, so the order is the same.
    const EntrySizes sizes = block.value % 4 == 3 ? EntrySizes{false, 0x0000ffff} : sizes_of(block.value);
    const PageMask pages = random_pages(random);
    bulk.touch(block, pages, sizes, 1);
    pages.for_each([&](unsigned page) { exact.translate(0, block, page, sizes.of(page)); });
    if (random.below(10) == 0) {
      const BlockIndex victim(random.below(64));
      bulk.invalidate(victim);
      exact.invalidate(victim);
    }
  }
  bulk_counters.gmmu.stall_ns = 0;  // page by page never adds to it
  std::vector<std::pair<std::string, std::uint64_t>> expected;
  for_each_counter(exact_counters, [&](const char* name, std::uint64_t value) { expected.emplace_back(name, value); });
  std::size_t next = 0;
  for_each_counter(bulk_counters,
                   [&](const char* name, std::uint64_t value) { EXPECT_EQ(value, expected[next++].second) << name; });
  EXPECT_GT(bulk_counters.gmmu.l2_hits_4k, 0u);
}

TEST(Touch, BlocksOfTwoMegabytesNeverStall) {
  Random random(6);
  GmmuCounters counters;
  Gmmu gmmu(small_config(), 132, counters);
  for (int i = 0; i < 20000; ++i) {
    ASSERT_EQ(gmmu.touch(BlockIndex(random.below(1000)), random_pages(random), EntrySizes::all(EntrySize::k2M), 132),
              Nanoseconds(0));
    if (random.below(10) == 0) gmmu.invalidate(BlockIndex(random.below(1000)));
  }
  EXPECT_EQ(counters.stall_ns, 0u);
}

TEST(Touch, StallIsWhatSmallEntriesCostBeyondTwoMegabytes) {
  GmmuCounters counters;
  Gmmu gmmu(small_config(), 8, counters);
  const auto touch = [&](std::uint64_t block, EntrySizes sizes) {
    return gmmu.touch(BlockIndex(block), PageMask::all(), sizes, 8);
  };
  touch(0, EntrySizes::all(EntrySize::k2M));
  // With a 2 MB entry, block 1's translation would have been fetched with block 0's. Here there are two walks instead,
  // of 2 and 1 reads (level 1 and both lines of the table; level 2 is cached), over 8 SMs with 2 misses each and 4
  // walkers.
  const std::int64_t latency_ps = 2 * (kL2 + kCached) * 1000 / 16, reads_ps = 3 * kRead * 1000 / 4;
  EXPECT_EQ(touch(1, EntrySizes::all(EntrySize::k64K)), Nanoseconds((latency_ps + reads_ps) / 1000));
  EXPECT_EQ(touch(1, EntrySizes::all(EntrySize::k64K)), Nanoseconds(0));  // both entries are in L1
  EXPECT_EQ(counters.stall_ns, static_cast<std::uint64_t>((latency_ps + reads_ps) / 1000));
}

TEST(Touch, FractionsOfANanosecondAddUp) {
  config::GmmuConfig config = small_config();
  config.l1_tlb_entries = kPagesPerEntry;
  GmmuCounters counters;
  Gmmu gmmu(config, 100, counters);
  const auto touch_both = [&] {  // two entries that push each other out of L1 but stay in L2
    return gmmu.touch(BlockIndex(0), PageMask::all(), EntrySizes::all(EntrySize::k64K), 100);
  };
  touch_both();
  const std::uint64_t before = counters.stall_ns;
  std::int64_t sum = 0;
  for (int i = 0; i < 1000; ++i) sum += touch_both().value;
  // 2 look-ups of 5 ns over 200 misses: 50 ps each time; the 2 MB entry would stay in L1.
  EXPECT_NEAR(static_cast<double>(sum), 50.0, 1.0);
  EXPECT_EQ(counters.stall_ns - before, static_cast<std::uint64_t>(sum));
}

TEST(Touch, CountsStallsAndIsDeterministicUnderRandomUse) {
  std::vector<std::uint64_t> stalls;
  for (const std::uint64_t read_ns : {280u, 280u, 560u, 5600u}) {
    Random random(7);
    GmmuCounters counters;
    config::GmmuConfig config = small_config();
    config.walk_level_ns = read_ns;
    Gmmu gmmu(config, 16, counters);
    std::uint64_t sum = 0;
    for (int i = 0; i < 20000; ++i) {
      const BlockIndex block(random.below(200));
      const Nanoseconds stall = gmmu.touch(block, random_pages(random), sizes_of(block.value),
                                           static_cast<std::uint32_t>(random.below(16) + 1));
      ASSERT_GE(stall, Nanoseconds(0));
      sum += static_cast<std::uint64_t>(stall.value);
      if (random.below(5) == 0) gmmu.invalidate(BlockIndex(random.below(200)));
      if (random.below(5) == 0) gmmu.invalidate_pages(BlockIndex(random.below(200)), random_pages(random));
      if (random.below(5) == 0) {
        const BlockIndex other(random.below(200));
        gmmu.translate(static_cast<std::uint32_t>(random.below(16)), other, 5, sizes_of(other.value).of(5));
      }
    }
    EXPECT_EQ(counters.stall_ns, sum);
    EXPECT_EQ(hits_and_walks(counters), counters.lookups);
    EXPECT_EQ(counters.walk_ns, (counters.walks_4k + counters.walks_64k + counters.walks_2m) * kCached +
                                    counters.walk_memory_reads * read_ns);
    stalls.push_back(sum);
  }
  EXPECT_EQ(stalls[0], stalls[1]);
  EXPECT_LT(stalls[1], stalls[2]);
  EXPECT_LT(stalls[2], stalls[3]);
}

TEST(Invalidate, NoLevelTranslatesTheBlockAnyMore) {
  Random random(8);
  GmmuCounters counters;
  config::GmmuConfig config = small_config();
  config.l2_tlb_entries = 64 * kPagesPerEntry;
  Gmmu gmmu(config, 4, counters);
  for (int i = 0; i < 5000; ++i) {
    for (int k = 0; k < 5; ++k) {
      const BlockIndex block(random.below(40));
      gmmu.touch(block, random_pages(random), sizes_of(block.value), 4);
      gmmu.translate(static_cast<std::uint32_t>(random.below(4)), block, 3, sizes_of(block.value).of(3));
    }
    const BlockIndex victim(random.below(40));
    gmmu.invalidate(victim);
    const auto page = static_cast<unsigned>(random.below(kPagesPerBlock));
    const EntrySize size = sizes_of(victim.value).of(page);
    ASSERT_GE(gmmu.translate(static_cast<std::uint32_t>(random.below(4)), victim, page, size),
              Nanoseconds(kL2 + kCached + kRead));
  }
}

TEST(Invalidate, NeighboursOfTheSameEntryStay) {
  GmmuCounters counters;
  Gmmu gmmu(small_config(), 1, counters);
  gmmu.translate(0, BlockIndex(0), 0, EntrySize::k2M);
  gmmu.invalidate(BlockIndex(3));
  EXPECT_EQ(gmmu.translate(0, BlockIndex(2), 0, EntrySize::k2M), Nanoseconds(kL2));  // L1s are emptied
  EXPECT_EQ(gmmu.translate(0, BlockIndex(3), 0, EntrySize::k2M), Nanoseconds(kL2 + kCached + kRead));
  EXPECT_EQ(gmmu.translate(0, BlockIndex(3), 0, EntrySize::k2M), Nanoseconds(0));
}

TEST(Invalidate, PagesAreDroppedOneByOne) {
  GmmuCounters counters;
  Gmmu gmmu(small_config(), 1, counters);
  const BlockIndex block(5);
  gmmu.translate(0, block, 0, EntrySize::k4K);
  gmmu.translate(0, block, 0, EntrySize::k64K);
  gmmu.invalidate_pages(block, PageMask::range(3, 2));
  const auto valid = [&](EntrySize size) {  // returns which pages of an entry L2 translates; the L1s are empty
    unsigned bits = 0;
    for (unsigned i = 0; i < kPagesPerEntry; ++i) {
      Gmmu probe = gmmu;
      const unsigned page = i * (size == EntrySize::k64K ? kPagesPerBigPage : 1);
      if (probe.translate(0, block, page, size) == Nanoseconds(kL2)) bits |= 1u << i;
    }
    return bits;
  };
  EXPECT_EQ(valid(EntrySize::k4K), 0xffffu & ~0x18u);
  EXPECT_EQ(valid(EntrySize::k64K), 0xfffeu);
  gmmu.invalidate_pages(block, PageMask());
  EXPECT_EQ(valid(EntrySize::k64K), 0xfffeu);
}

TEST(Gmmu, CountsTranslationsInGroupsOfSixteen) {
  GmmuCounters counters;
  // Returns whether `groups` groups, every `stride`-th one, all stay in L2 when they are used in turn.
  const auto stay = [&](std::uint32_t entries, std::uint32_t ways, std::uint64_t stride, std::uint64_t groups) {
    config::GmmuConfig config = small_config();
    config.l1_tlb_entries = config.l1_tlb_ways = 1;
    config.l2_tlb_entries = entries;
    config.l2_tlb_ways = ways;
    Gmmu gmmu(config, 1, counters);
    bool all = true;
    for (const bool again : {false, true}) {
      for (std::uint64_t i = 0; i < groups; ++i) {
        const Nanoseconds latency = gmmu.translate(0, BlockIndex(i * stride * kPagesPerEntry), 0, EntrySize::k2M);
        all = all && (!again || latency <= Nanoseconds(kL2));
      }
    }
    return all;
  };
  struct Shape {
    std::uint32_t entries, ways;
    std::uint64_t stride, groups;
  };
  // 128 sets of 16: every 129th group belongs to the same set.
  for (const Shape& s :
       {Shape{32768, 16, 1, 2048}, {32768, 16, 129, 16}, {16, 16, 1, 1}, {1, 1, 1, 1}, {33, 16, 1, 3}}) {
    EXPECT_TRUE(stay(s.entries, s.ways, s.stride, s.groups)) << s.entries;
    EXPECT_FALSE(stay(s.entries, s.ways, s.stride, s.groups + 1)) << s.entries;
  }
}

TEST(Gmmu, RefusesImpossibleConfigurationsByKey) {
  const auto message = [](auto change, std::uint32_t sms = 4) {
    config::GmmuConfig config = small_config();
    change(config);
    GmmuCounters counters;
    try {
      Gmmu gmmu(config, sms, counters);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message([](auto& c) { c.l1_tlb_entries = 0; }).find("gmmu.l1_tlb_entries"), std::string::npos);
  EXPECT_NE(message([](auto& c) { c.l2_tlb_ways = 3; }).find("gmmu.l2_tlb_ways"), std::string::npos);
  EXPECT_NE(message([](auto& c) { c.l2_tlb_ways = 0; }).find("gmmu.l2_tlb_ways"), std::string::npos);
  EXPECT_NE(message([](auto& c) { c.l2_tlb_entries = 1u << 31; }).find("gmmu.l2_tlb_entries"), std::string::npos);
  EXPECT_NE(message([](auto& c) { c.walkers = 0; }).find("gmmu.walkers"), std::string::npos);
  EXPECT_NE(message([](auto& c) { c.walk_levels_2m = 0; }).find("gmmu.walk_levels"), std::string::npos);
  EXPECT_NE(message([](auto& c) { c.walk_level_ns = ~std::uint64_t{0}; }).find("latency"), std::string::npos);
  EXPECT_NE(message([](auto&) {}, 0).find("sm_count"), std::string::npos);
  EXPECT_EQ(message([](auto&) {}), "");
}

}  // namespace
}  // namespace uvmsim::gmmu
