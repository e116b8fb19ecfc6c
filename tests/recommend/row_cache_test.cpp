// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/row_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "sim/common/random.h"

namespace uvmsim::recommend {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Rows = std::vector<std::uint64_t>;

Rows range(std::uint64_t first, std::uint64_t count) {
  Rows rows(count);
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

// The cache has one set, so all rows collide.
TEST(RowCache, FillsEmptyWaysFirst) {
  RowCache cache(CachePolicy::kLru, 1, 0);
  RowCache::Outcome outcome;
  cache.prefetch(range(0, 20), outcome);
  EXPECT_EQ(outcome.inserted, range(0, 20));
  cache.prefetch(range(15, 10), outcome);
  EXPECT_EQ(outcome.hits, 5u);
  EXPECT_EQ(outcome.inserted, range(20, 5));
  EXPECT_THAT(outcome.evicted, IsEmpty());
  EXPECT_EQ(cache.cached_rows(), 25u);
}

TEST(RowCache, TheWayUsedLongestAgoLeaves) {
  RowCache cache(CachePolicy::kLru, 1, 0);
  RowCache::Outcome outcome;
  cache.prefetch(range(0, 16), outcome);
  cache.prefetch(range(16, 16), outcome);
  cache.prefetch({0, 1, 2}, outcome);  // now 3 is the oldest
  cache.prefetch({100, 101}, outcome);
  EXPECT_THAT(outcome.inserted, ElementsAre(100, 101));
  EXPECT_THAT(outcome.evicted, ElementsAre(3, 4));
}

// 40 new rows in one set of 32 ways: 8 find no way.
TEST(RowCache, MoreRowsThanWaysAreConflictMisses) {
  RowCache cache(CachePolicy::kLru, 1, 0);
  RowCache::Outcome outcome;
  cache.prefetch(range(0, 40), outcome);
  EXPECT_EQ(outcome.inserted, range(0, 32));
  EXPECT_EQ(outcome.uncached, range(32, 8));
}

// Ways that the batch itself uses are not evicted.
TEST(RowCache, RowsInUseStay) {
  RowCache cache(CachePolicy::kLru, 1, 0);
  RowCache::Outcome outcome;
  cache.prefetch(range(0, 32), outcome);
  cache.prefetch(range(2, 34), outcome);  // 30 hits, 4 misses, 2 ways that may be evicted
  EXPECT_EQ(outcome.hits, 30u);
  EXPECT_THAT(outcome.evicted, ElementsAre(0, 1));
  EXPECT_THAT(outcome.inserted, ElementsAre(32, 33));
  EXPECT_THAT(outcome.uncached, ElementsAre(34, 35));
}

// When rows are fetched ahead, the rows of the batch that computes meanwhile are not evicted either.
TEST(RowCache, RowsOfTheBatchBeforeAreLocked) {
  RowCache cache(CachePolicy::kLru, 1, 1);
  RowCache::Outcome outcome;
  cache.prefetch(range(0, 32), outcome);
  cache.prefetch({50}, outcome);
  EXPECT_THAT(outcome.uncached, ElementsAre(50));
  cache.prefetch({51}, outcome);
  EXPECT_THAT(outcome.inserted, ElementsAre(51));
  EXPECT_THAT(outcome.evicted, ElementsAre(0));
}

TEST(RowCache, ByUseCountsOnlyRowsUsedAsOftenEnter) {
  RowCache cache(CachePolicy::kLfu, 1, 0);
  RowCache::Outcome outcome;
  cache.prefetch(range(0, 32), outcome);
  cache.prefetch(range(0, 31), outcome);  // all but 31 have a count of 2
  cache.prefetch({40}, outcome);          // count 1 against count 1
  EXPECT_THAT(outcome.inserted, ElementsAre(40));
  EXPECT_THAT(outcome.evicted, ElementsAre(31));
  cache.prefetch({31}, outcome);  // its second use against the first use of 40
  EXPECT_THAT(outcome.evicted, ElementsAre(40));
  cache.prefetch({50}, outcome);  // count 1 against count 2
  EXPECT_THAT(outcome.inserted, IsEmpty());
  EXPECT_THAT(outcome.uncached, ElementsAre(50));
}

// A reference with the same rules: a list of (row, way) per set.
class Reference {
 public:
  Reference(CachePolicy policy, std::uint64_t sets, std::uint32_t locked)
      : policy_(policy), locked_(locked), sets_(sets, std::vector<Entry>(32)) {}

  RowCache::Outcome prefetch(const Rows& rows) {
    RowCache::Outcome outcome;
    ++batch_;
    for (const std::uint64_t row : rows) ++uses_[row];
    std::map<std::uint64_t, Rows> misses;
    for (const std::uint64_t row : rows) {
      const std::uint64_t set = RowCache::set_of(row, sets_.size());
      const auto way = std::find_if(sets_[set].begin(), sets_[set].end(),
                                    [&](const Entry& e) { return e.last != 0 && e.row == row; });
      if (way != sets_[set].end()) {
        way->last = batch_;
        ++outcome.hits;
      } else {
        misses[set].push_back(row);
      }
    }
    const bool lfu = policy_ == CachePolicy::kLfu;
    for (auto& [number, missed] : misses) {
      std::vector<Entry>& set = sets_[number];
      if (lfu) std::stable_sort(missed.begin(), missed.end(), [&](auto a, auto b) { return uses_[a] > uses_[b]; });
      std::vector<std::size_t> ways;  // ways that may be evicted, best first
      for (std::size_t i = 0; i < 32; ++i) {
        const Entry& entry = set[i];
        const bool in_use = entry.last + locked_ >= batch_ && !(lfu && locked_ == 0);
        if (entry.last == 0 || !in_use) ways.push_back(i);
      }
      std::stable_sort(ways.begin(), ways.end(),
                       [&](std::size_t a, std::size_t b) { return key(set[a]) < key(set[b]); });
      std::size_t taken = 0;
      for (const std::uint64_t row : missed) {
        if (taken == ways.size() || (lfu && key(set[ways[taken]]) > uses_[row])) {
          outcome.uncached.push_back(row);
          continue;
        }
        Entry& entry = set[ways[taken++]];
        if (entry.last != 0) {
          outcome.evicted.push_back(entry.row);
          if (entry.last == batch_) outcome.uncached.push_back(entry.row);
        }
        entry = {row, batch_};
        outcome.inserted.push_back(row);
      }
    }
    for (auto* list : {&outcome.inserted, &outcome.evicted, &outcome.uncached}) std::sort(list->begin(), list->end());
    return outcome;
  }

 private:
  struct Entry {
    std::uint64_t row = 0;
    std::uint32_t last = 0;
  };
  std::uint64_t key(const Entry& entry) {
    if (entry.last == 0) return 0;
    return policy_ == CachePolicy::kLfu ? uses_[entry.row] : entry.last;
  }

  CachePolicy policy_;
  std::uint32_t locked_, batch_ = 0;
  std::vector<std::vector<Entry>> sets_;
  std::map<std::uint64_t, std::uint64_t> uses_;
};

TEST(RowCache, AgreesWithTheReference) {
  Random random(11);
  for (const CachePolicy policy : {CachePolicy::kLru, CachePolicy::kLfu}) {
    for (const std::uint32_t locked : {0u, 1u}) {
      for (const std::uint64_t sets : {1u, 3u, 7u}) {
        RowCache cache(policy, sets, locked);
        Reference reference(policy, sets, locked);
        for (int batch = 0; batch < 60; ++batch) {
          std::set<std::uint64_t> rows;
          const std::uint64_t count = 1 + random.below(40 * sets);
          for (std::uint64_t i = 0; i < count; ++i) rows.insert(random.below(1 + random.below(120 * sets)));
          RowCache::Outcome outcome;
          cache.prefetch({rows.begin(), rows.end()}, outcome);
          const RowCache::Outcome expected = reference.prefetch({rows.begin(), rows.end()});
          ASSERT_EQ(outcome.hits, expected.hits);
          ASSERT_EQ(outcome.inserted, expected.inserted);
          ASSERT_EQ(outcome.evicted, expected.evicted);
          ASSERT_EQ(outcome.uncached, expected.uncached);
          for (const std::uint64_t row : rows) {
            const bool uncached = std::binary_search(outcome.uncached.begin(), outcome.uncached.end(), row);
            ASSERT_EQ(cache.contains(row), !uncached) << row;
          }
        }
      }
    }
  }
}

// FBGEMM hashes with the finaliser of MurmurHash3; this is its published value for 1.
TEST(RowCache, SetsAreByMurmurHash) {
  EXPECT_EQ(RowCache::set_of(0, std::uint64_t{1} << 63), 0u);
  EXPECT_EQ(RowCache::set_of(1, std::uint64_t{1} << 63), 0xb456bcfc34c2cb2cu & ((std::uint64_t{1} << 63) - 1));
}

}  // namespace
}  // namespace uvmsim::recommend
