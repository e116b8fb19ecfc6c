// SPDX-License-Identifier: Apache-2.0
// The tree prefetcher with and without cascade: the published worked examples, in 64 KB units, and a second
// implementation of the cascade on random blocks.
#include <gtest/gtest.h>

#include <vector>

#include "sim/common/random.h"
#include "tests/policy/faults.h"

namespace uvmsim::policy::tree_cascade_test {
namespace {

using Units = std::vector<unsigned>;

Units range(unsigned first, unsigned end) {
  Units units;
  for (; first < end; ++first) units.push_back(first);
  return units;
}

PageMask pages_of(const Units& units) {
  PageMask mask;
  for (const unsigned unit : units) mask.set_range(unit * kPagesPerBigPage, kPagesPerBigPage);
  return mask;
}

// Returns the units that each fault (on the first page of a unit) fetches; units are never fetched in part.
std::vector<Units> transfers(std::string_view cascade, const Units& faults, const Units& resident = {}) {
  const auto tree = prefetcher("tree", {{"cascade", std::string(cascade)}});
  BlockUnderTest block{*tree};
  block.resident = pages_of(resident);
  std::vector<Units> all;
  for (const unsigned fault : faults) {
    const PageMask moved = block.service(mask_of({fault * kPagesPerBigPage}));
    Units units;
    for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
      const unsigned count = moved.count_range(unit * kPagesPerBigPage, kPagesPerBigPage);
      EXPECT_TRUE(count == 0 || count == kPagesPerBigPage) << unit;
      if (count != 0) units.push_back(unit);
    }
    all.push_back(units);
  }
  return all;
}

class Cascade : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Tree, Cascade, ::testing::Values("false", "true"),
                         [](const auto& info) { return std::string(info.param) == "true" ? "with" : "without"; });

// Reference 3.4, P1 to P3: traces of real hardware that UVMSmart contains (micro-benchmarks/*.cu).
TEST_P(Cascade, FollowsTheHardwareTraces) {
  EXPECT_EQ(transfers(GetParam(), {0, 1, 2, 4, 8, 16}),
            (std::vector<Units>{{0}, {1}, {2, 3}, range(4, 8), range(8, 16), range(16, 32)}));
  EXPECT_EQ(transfers(GetParam(), {1, 3, 0, 4, 8, 16}),
            (std::vector<Units>{{1}, {3}, {0, 2}, range(4, 8), range(8, 16), range(16, 32)}));
  EXPECT_EQ(transfers(GetParam(), {1, 3, 5, 7, 0, 8, 16}),
            (std::vector<Units>{{1}, {3}, {5}, {7}, {0, 2, 4, 6}, range(8, 16), range(16, 32)}));
}

// The first missing unit, upwards or downwards, faults until all units are resident.
TEST_P(Cascade, ASweepTakesSixFaultsAndTheWorstOrderSeventeen) {
  const auto faults_of = [](std::string_view cascade, const Units& order) {
    const auto tree = prefetcher("tree", {{"cascade", std::string(cascade)}});
    BlockUnderTest block{*tree};
    unsigned faults = 0;
    for (const unsigned unit : order) {
      if (block.resident.test(unit * kPagesPerBigPage)) continue;
      block.service(mask_of({unit * kPagesPerBigPage}));
      ++faults;
    }
    EXPECT_TRUE(block.resident.full());
    return faults;
  };
  Units backwards = range(0, 32), even_first, by_fours;
  std::reverse(backwards.begin(), backwards.end());
  for (unsigned first : {0u, 1u}) {
    for (unsigned unit = first; unit < 32; unit += 2) even_first.push_back(unit);
  }
  for (unsigned first : {0u, 1u, 2u, 3u}) {
    for (unsigned unit = first; unit < 32; unit += 4) by_fours.push_back(unit);
  }
  EXPECT_EQ(faults_of(GetParam(), range(0, 32)), 6u);
  EXPECT_EQ(faults_of(GetParam(), backwards), 6u);
  EXPECT_EQ(faults_of(GetParam(), even_first), 17u);
  EXPECT_LE(faults_of(GetParam(), by_fours), 17u);
}

TEST(Tree, TheTwoVariantsDiffer) {
  EXPECT_EQ(transfers("false", {2}, {0, 1, 4}), (std::vector<Units>{{2, 3}}));
  EXPECT_EQ(transfers("true", {2}, {0, 1, 4}), (std::vector<Units>{{2, 3, 5, 6, 7}}));
}

// The cascade as published: children first, then the node, on pages one by one.
unsigned fill(std::vector<bool>& present, unsigned first, unsigned size, unsigned end, unsigned threshold) {
  if (first >= end) return 0;
  const unsigned last = std::min(first + size, end);
  unsigned count = 0;
  if (size == kPagesPerBigPage) {
    for (unsigned page = first; page < last; ++page) count += present[page] ? 1 : 0;
    return count;
  }
  count = fill(present, first, size / 2, end, threshold) + fill(present, first + size / 2, size / 2, end, threshold);
  if (count < last - first && count * 100 > (last - first) * threshold) {
    for (unsigned page = first; page < last; ++page) present[page] = true;
    count = last - first;
  }
  return count;
}

TEST(Tree, TheCascadeAgreesWithARecursiveOne) {
  Random random(9);
  for (int round = 0; round < 3000; ++round) {
    const unsigned threshold = round % 3 == 0 ? 1 + static_cast<unsigned>(random.below(100)) : 51;
    const auto tree = prefetcher("tree", {{"cascade", "true"}, {"threshold", std::to_string(threshold)}});
    const unsigned end = random.below(3) == 0 ? 17 + static_cast<unsigned>(random.below(496)) : kPagesPerBlock;
    BlockUnderTest block{*tree, 0, end};
    PageMask faulted;
    for (int i = 0; i < 14; ++i) {
      const auto page = static_cast<unsigned>(random.below(end));
      block.resident.set_range(page, std::min<unsigned>(static_cast<unsigned>(random.below(24)), end - page));
    }
    for (std::uint64_t i = random.below(5); i < 5; ++i) faulted.set(static_cast<unsigned>(random.below(end)));
    faulted -= block.resident;
    const PageMask grown = faulted.grown_to_big_pages();
    std::vector<bool> present(kPagesPerBlock, false);
    for (unsigned page = 0; page < end; ++page) present[page] = block.resident.test(page) || grown.test(page);
    fill(present, 0, kPagesPerBlock, end, threshold);
    PageMask expected;
    for (unsigned page = 0; page < end; ++page) {
      if (present[page]) expected.set(page);
    }
    ASSERT_TRUE((block.added(faulted) | faulted | block.resident) == (expected | faulted | block.resident))
        << "round " << round << ", " << end << " pages, threshold " << threshold;
  }
}

}  // namespace
}  // namespace uvmsim::policy::tree_cascade_test
