// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/host_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>

#include "sim/common/random.h"
#include "sim/recommend/row_map.h"

namespace uvmsim::recommend {
namespace {

TEST(RowMap, AgreesWithAMap) {
  RowMap rows;
  std::map<std::uint64_t, std::uint32_t> expected;
  Random random(1);
  for (int i = 0; i < 200000; ++i) {
    const std::uint64_t row = random.below(5000);
    const auto found = expected.find(row);
    ASSERT_EQ(rows.find(row), found == expected.end() ? 0 : found->second);
    if (random.below(3) == 0 && found != expected.end()) {
      rows.erase(row);
      expected.erase(found);
    } else {
      rows[row] = static_cast<std::uint32_t>(i + 1);
      expected[row] = static_cast<std::uint32_t>(i + 1);
    }
    ASSERT_EQ(rows.size(), expected.size());
  }
}

TEST(HostCache, AgreesWithAList) {
  constexpr std::size_t kCapacity = 50;
  HostCache cache(kCapacity);
  std::list<std::pair<std::uint64_t, bool>> expected;  // most recently used first; row, changed
  Random random(2);
  for (int i = 0; i < 50000; ++i) {
    const std::uint64_t row = random.below(120);
    const auto found = std::find_if(expected.begin(), expected.end(), [&](const auto& e) { return e.first == row; });
    if (random.below(2) == 0) {
      ASSERT_EQ(cache.touch(row), found != expected.end());
      if (found != expected.end()) expected.splice(expected.begin(), expected, found);
      continue;
    }
    const bool changed = random.below(2) == 0;
    bool written = false;
    if (found != expected.end()) {
      found->second = found->second || changed;
      expected.splice(expected.begin(), expected, found);
    } else {
      if (expected.size() == kCapacity) {
        written = expected.back().second;
        expected.pop_back();
      }
      expected.emplace_front(row, changed);
    }
    ASSERT_EQ(cache.put(row, changed), written);
    ASSERT_EQ(cache.size(), expected.size());
  }
}

TEST(HostCache, WithoutRoomPassesChangesOn) {
  HostCache cache(0);
  EXPECT_TRUE(cache.put(1, true));
  EXPECT_FALSE(cache.put(1, false));
  EXPECT_FALSE(cache.touch(1));
}

}  // namespace
}  // namespace uvmsim::recommend
