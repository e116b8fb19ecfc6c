// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/page_mask.h"

#include <gtest/gtest.h>

#include <bitset>
#include <utility>
#include <vector>

#include "sim/common/random.h"

namespace uvmsim {
namespace {

using Bits = std::bitset<kPagesPerBlock>;

// A mask and the bitset that it must equal.
struct Pair {
  PageMask mask;
  Bits bits;
};

Bits bits_of(const PageMask& mask) {
  Bits bits;
  for (unsigned page = 0; page < kPagesPerBlock; ++page) bits[page] = mask.test(page);
  return bits;
}

// Returns a mask of single pages and ranges, sometimes an empty or a full one.
Pair random_pair(Random& random) {
  Pair pair;
  const std::uint64_t strokes = random.below(12);
  for (std::uint64_t i = 0; i < strokes; ++i) {
    const auto first = static_cast<unsigned>(random.below(kPagesPerBlock));
    if (random.below(2) == 0) {
      pair.mask.set(first);
      pair.bits.set(first);
    } else {
      const auto count = static_cast<unsigned>(random.below(kPagesPerBlock - first + 1));
      pair.mask.set_range(first, count);
      for (unsigned page = first; page < first + count; ++page) pair.bits.set(page);
    }
  }
  return pair;
}

TEST(PageMask, AgreesWithABitset) {
  Random random(1);
  for (int round = 0; round < 2000; ++round) {
    const auto [a, a_bits] = random_pair(random);
    const auto [b, b_bits] = random_pair(random);
    ASSERT_EQ(bits_of(a), a_bits);
    ASSERT_EQ(bits_of(a & b), a_bits & b_bits);
    ASSERT_EQ(bits_of(a | b), a_bits | b_bits);
    ASSERT_EQ(bits_of(a - b), a_bits & ~b_bits);
    ASSERT_EQ(a.count(), a_bits.count());
    ASSERT_EQ(a.empty(), a_bits.none());
    ASSERT_EQ(a.full(), a_bits.all());
    ASSERT_EQ(a == b, a_bits == b_bits);
    ASSERT_EQ(a.contains(b), (b_bits & ~a_bits).none());
    ASSERT_EQ(a.intersects(b), (b_bits & a_bits).any());
    PageMask c = a;
    c -= b;
    ASSERT_EQ(c, a - b);
    c |= b;
    ASSERT_EQ(c, a | b);
    c &= a;
    ASSERT_EQ(c, a);
  }
}

TEST(PageMask, SearchesAndRunsAgreeWithABitset) {
  Random random(2);
  for (int round = 0; round < 500; ++round) {
    const auto [mask, bits] = random_pair(random);
    const auto from = static_cast<unsigned>(random.below(kPagesPerBlock + 1));
    unsigned set = from;
    while (set < kPagesPerBlock && !bits[set]) ++set;
    unsigned clear = from;
    while (clear < kPagesPerBlock && bits[clear]) ++clear;
    ASSERT_EQ(mask.next_set(from), set);
    ASSERT_EQ(mask.next_clear(from), clear);

    Bits from_pages;
    unsigned last = 0;
    bool ascending = true;
    mask.for_each([&](unsigned page) {
      ascending = ascending && (from_pages.none() || page > last);
      last = page;
      from_pages.set(page);
    });
    ASSERT_TRUE(ascending);
    ASSERT_EQ(from_pages, bits);

    Bits from_runs;
    unsigned end_before = 0;
    bool maximal = true;
    mask.for_each_run([&](unsigned first, unsigned count) {
      maximal = maximal && count > 0 && (from_runs.none() || first > end_before);
      end_before = first + count;
      for (unsigned page = first; page < first + count; ++page) from_runs.set(page);
    });
    ASSERT_TRUE(maximal);
    ASSERT_EQ(from_runs, bits);
  }
}

TEST(PageMask, GrowsToBigPagesAndCountsInRanges) {
  Random random(3);
  for (int round = 0; round < 500; ++round) {
    const auto [mask, bits] = random_pair(random);
    const PageMask grown = mask.grown_to_big_pages();
    for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
      unsigned in_unit = 0;
      for (unsigned i = 0; i < kPagesPerBigPage; ++i) in_unit += bits[unit * kPagesPerBigPage + i] ? 1 : 0;
      ASSERT_EQ(mask.count_range(unit * kPagesPerBigPage, kPagesPerBigPage), in_unit);
      ASSERT_EQ(grown.count_range(unit * kPagesPerBigPage, kPagesPerBigPage), in_unit == 0 ? 0 : kPagesPerBigPage);
    }
  }
}

TEST(PageMask, EdgesOfABlock) {
  EXPECT_TRUE(PageMask::range(17, 0).empty());
  EXPECT_TRUE(PageMask::range(kPagesPerBlock, 0).empty());
  EXPECT_EQ(PageMask::range(0, kPagesPerBlock), PageMask::all());
  EXPECT_EQ(PageMask::range(63, 2).count(), 2u);  // across words
  PageMask mask = PageMask::all();
  mask.reset(kPagesPerBlock - 1);
  EXPECT_EQ(mask.next_clear(0), kPagesPerBlock - 1);
  EXPECT_EQ(mask.next_set(kPagesPerBlock - 1), kPagesPerBlock);
  EXPECT_EQ(mask.next_set(kPagesPerBlock), kPagesPerBlock);
  mask.clear();
  EXPECT_EQ(mask, PageMask());
}

}  // namespace
}  // namespace uvmsim
