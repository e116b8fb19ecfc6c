// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/align.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/common/random.h"

namespace uvmtrace {
namespace {

using Sequence = std::vector<std::uint64_t>;
using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

std::size_t longest_common(const Sequence& a, const Sequence& b) {
  std::vector<std::size_t> row(b.size() + 1, 0);
  for (const std::uint64_t item : a) {
    std::size_t diagonal = 0;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = item == b[j] ? diagonal + 1 : std::max(row[j], above);
      diagonal = above;
    }
  }
  return row.back();
}

void expect_valid(const Sequence& a, const Sequence& b, const Alignment& alignment) {
  for (std::size_t i = 0; i < alignment.pairs.size(); ++i) {
    const auto& [x, y] = alignment.pairs[i];
    ASSERT_LT(x, a.size());
    ASSERT_LT(y, b.size());
    ASSERT_EQ(a[x], b[y]);
    if (i != 0) {
      ASSERT_GT(x, alignment.pairs[i - 1].first);
      ASSERT_GT(y, alignment.pairs[i - 1].second);
    }
  }
}

TEST(Align, EqualSequences) {
  EXPECT_EQ(align({1, 2, 3}, {1, 2, 3}).pairs, (Pairs{{0, 0}, {1, 1}, {2, 2}}));
  EXPECT_TRUE(align({}, {}).pairs.empty());
}

TEST(Align, OneMoreOnEitherSide) {
  EXPECT_EQ(align({1, 2, 3}, {1, 9, 2, 3}).pairs, (Pairs{{0, 0}, {1, 2}, {2, 3}}));
  EXPECT_EQ(align({1, 9, 2, 3}, {1, 2, 3}).pairs, (Pairs{{0, 0}, {2, 1}, {3, 2}}));
  EXPECT_EQ(align({1, 2, 3}, {9, 1, 2, 3}).pairs, (Pairs{{0, 1}, {1, 2}, {2, 3}}));
}

TEST(Align, NothingInCommon) {
  EXPECT_TRUE(align({1, 2, 3}, {4, 5}).pairs.empty());
  EXPECT_TRUE(align({1}, {}).pairs.empty());
  EXPECT_TRUE(align({1}, {2}).pairs.empty());
}

TEST(Align, RandomSequencesAgainstDynamicProgramming) {
  uvmsim::Random random(5);
  for (int round = 0; round < 3000; ++round) {
    const std::uint64_t alphabet = 1 + random.below(6);
    Sequence a(random.below(30)), b(random.below(30));
    for (Sequence* sequence : {&a, &b}) {
      for (std::uint64_t& item : *sequence) item = random.below(alphabet);
    }
    const Alignment alignment = align(a, b);
    expect_valid(a, b, alignment);
    ASSERT_TRUE(alignment.whole);
    ASSERT_EQ(alignment.pairs.size(), longest_common(a, b)) << "round " << round;
  }
}

TEST(Align, LongSequencesWithFewDifferences) {
  uvmsim::Random random(6);
  Sequence a(200000);
  for (std::uint64_t& item : a) item = random.below(50);
  Sequence b = a;
  for (int i = 0; i < 100; ++i) {
    b.erase(b.begin() + static_cast<std::ptrdiff_t>(random.below(b.size())));
    b.insert(b.begin() + static_cast<std::ptrdiff_t>(random.below(b.size())), 1000 + random.below(3));
  }
  const Alignment alignment = align(a, b);
  expect_valid(a, b, alignment);
  EXPECT_GE(alignment.pairs.size(), a.size() - 100);
}

// Compares with the definition: the longest pair of ends that have enough in common.
TEST(AlignEnds, RandomSequencesAgainstAllEnds) {
  uvmsim::Random random(8);
  for (int round = 0; round < 300; ++round) {
    Sequence a(random.below(25)), b(random.below(25));
    for (Sequence* sequence : {&a, &b}) {
      for (std::uint64_t& item : *sequence) item = random.below(3);
    }
    const Sequence tail = {7, 8, 9, 7, 8};
    a.insert(a.end(), tail.begin(), tail.end());
    b.insert(b.end(), tail.begin(), tail.end());
    const std::uint32_t thousandths = 600 + static_cast<std::uint32_t>(random.below(400));
    std::size_t most = 0;
    for (std::size_t i = 0; i <= a.size(); ++i) {
      for (std::size_t j = 0; j <= b.size(); ++j) {
        const std::size_t common = longest_common({a.begin() + static_cast<std::ptrdiff_t>(i), a.end()},
                                                  {b.begin() + static_cast<std::ptrdiff_t>(j), b.end()});
        const std::size_t longer = std::max(a.size() - i, b.size() - j);
        most = common * 1000 >= longer * thousandths ? std::max(most, common) : most;
      }
    }
    const Alignment alignment = align_ends_of(a, b, thousandths);
    expect_valid(a, b, alignment);
    ASSERT_EQ(alignment.pairs.size(), most) << "round " << round;
  }
}

// With millions of launches, differences before the ends cost almost no time.
TEST(AlignEnds, LongSequences) {
  Sequence a(1000000), b(800000);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = 2 * i;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = 2 * i + 1;
  for (std::size_t i = 0; i < 500000; ++i) {
    a.push_back(i % 997);
    b.push_back(i % 997);
  }
  b.erase(b.end() - 300000);
  const Alignment alignment = align_ends_of(a, b, 990);
  expect_valid(a, b, alignment);
  EXPECT_EQ(alignment.pairs.size(), 499999u);
}

// A million launches with nothing in common must not take hours.
TEST(Align, GivesUpOnSequencesThatDifferEverywhere) {
  Sequence a(400000), b(400000);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = 2 * i;
    b[i] = 2 * i + 1;
  }
  a.front() = b.front() = 7;
  a.back() = b.back() = 8;
  const Alignment alignment = align(a, b);
  expect_valid(a, b, alignment);
  EXPECT_FALSE(alignment.whole);
  EXPECT_EQ(alignment.pairs.size(), 2u);
}

}  // namespace
}  // namespace uvmtrace
