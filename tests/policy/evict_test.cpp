// SPDX-License-Identifier: Apache-2.0
// Tests the evictors with examples from the driver's rules, and with random histories against plain lists.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "sim/common/random.h"
#include "tests/policy/chunks.h"

namespace uvmsim::policy {
namespace {

constexpr ChunkId kA{0};
constexpr ChunkId kB{1};
constexpr ChunkId kC{2};

TEST(Lrm, AFaultRefreshesAChunk) {
  const auto lrm = evictor("lrm", 2);
  lrm->on_migrated(kA);
  lrm->on_migrated(kB);
  lrm->on_migrated(kA);
  EXPECT_EQ(lrm->select_victim(FakeChunks(2)), kB);
}

TEST(Lrm, AHitDoesNot) {
  const auto lrm = evictor("lrm", 2);
  lrm->on_migrated(kA);
  lrm->on_migrated(kB);
  lrm->on_touched(kA);
  EXPECT_EQ(lrm->select_victim(FakeChunks(2)), kA);
}

TEST(Lru, AHitRefreshesAChunk) {
  const auto lru = evictor("lru", 2);
  lru->on_migrated(kA);
  lru->on_migrated(kB);
  lru->on_touched(kA);
  EXPECT_EQ(lru->select_victim(FakeChunks(2)), kB);
}

// The two policies whose only state is an order of last uses.
class ByRecency : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Evict, ByRecency, ::testing::Values("lrm", "lru"));

TEST_P(ByRecency, TakesAnEmptiedChunkFirst) {
  const auto policy = evictor(GetParam(), 2);
  policy->on_migrated(kA);
  policy->on_migrated(kB);
  policy->on_emptied(kB);
  EXPECT_EQ(policy->select_victim(FakeChunks(2)), kB);
}

TEST_P(ByRecency, APrefetchedRangeIsTheYoungestInAscendingOrder) {
  const auto policy = evictor(GetParam(), 3);
  for (const ChunkId chunk : {kB, kA, kC}) policy->on_migrated(chunk);
  for (const ChunkId chunk : {kA, kB}) {  // a prefetch call over both blocks, which are resident already
    policy->on_migrated(chunk);
  }
  for (const ChunkId expected : {kC, kA, kB}) {
    EXPECT_EQ(policy->select_victim(FakeChunks(3)), expected);
    policy->on_released(expected);
  }
}

TEST_P(ByRecency, SkipsWhatIsPinnedAndFindsNothingWhenAllIs) {
  const auto policy = evictor(GetParam(), 3);
  FakeChunks chunks(3);
  EXPECT_FALSE(policy->select_victim(chunks).valid());
  policy->on_migrated(kA);
  policy->on_migrated(kB);
  chunks.pinned[0] = true;
  EXPECT_EQ(policy->select_victim(chunks), kB);
  chunks.pinned[1] = true;
  EXPECT_FALSE(policy->select_victim(chunks).valid());
}

TEST_P(ByRecency, SelectingAVictimChangesNothing) {
  const auto policy = evictor(GetParam(), 3);
  policy->on_migrated(kB);
  policy->on_migrated(kA);
  EXPECT_EQ(policy->select_victim(FakeChunks(3)), policy->select_victim(FakeChunks(3)));
}

TEST(Lrm, GoesByUnusedThenDiscardedThenUsed) {
  const auto lrm = evictor("lrm", 4);
  const ChunkId d{3};
  for (const ChunkId chunk : {kA, kB, kC, d}) lrm->on_migrated(chunk);
  lrm->on_discarded(kC);
  lrm->on_emptied(kB);
  for (const ChunkId expected : {kB, kC, kA, d}) {
    EXPECT_EQ(lrm->select_victim(FakeChunks(4)), expected);
    lrm->on_released(expected);
  }
  EXPECT_FALSE(lrm->select_victim(FakeChunks(4)).valid());
}

// The policies implemented again with vectors: each list is in the order of eviction.
class NaiveLists {
 public:
  void append(std::size_t list, ChunkId chunk) {
    remove(chunk);
    lists_.at(list).push_back(chunk);
  }
  void remove(ChunkId chunk) {
    for (auto& list : lists_) list.erase(std::remove(list.begin(), list.end(), chunk), list.end());
  }
  ChunkId victim(const FakeChunks& chunks) const {
    for (const auto& list : lists_) {
      for (const ChunkId chunk : list) {
        if (chunks.evictable(chunk)) return chunk;
      }
    }
    return {};
  }

 private:
  std::array<std::vector<ChunkId>, 3> lists_;
};

TEST_P(ByRecency, AgreesWithPlainListsOnRandomHistories) {
  constexpr std::uint32_t kChunks = 24;
  const bool is_lru = std::string(GetParam()) == "lru";
  const auto policy = evictor(GetParam(), kChunks);
  NaiveLists naive;
  FakeChunks chunks(kChunks);
  Random random(5);
  for (int step = 0; step < 20000; ++step) {
    const ChunkId chunk{static_cast<std::uint32_t>(random.below(kChunks))};
    switch (random.below(7)) {
      case 0:
      case 1:
        policy->on_migrated(chunk);
        naive.append(2, chunk);
        break;
      case 2:
        policy->on_touched(chunk);
        if (is_lru) naive.append(2, chunk);
        break;
      case 3:
        policy->on_emptied(chunk);
        naive.append(0, chunk);
        break;
      case 4:
        policy->on_discarded(chunk);
        naive.append(is_lru ? 0 : 1, chunk);
        break;
      case 5:
        policy->on_released(chunk);
        naive.remove(chunk);
        break;
      default:
        chunks.pinned[chunk.value] = !chunks.pinned[chunk.value];
        break;
    }
    ASSERT_EQ(policy->select_victim(chunks), naive.victim(chunks)) << "step " << step;
  }
}

// If victims were hardly filled, the policy becomes least recently used for good after an interval.
TEST(MhpeLike, TurnsToLruWhenVictimsWereHardlyFilled) {
  for (const bool filled : {true, false}) {
    FakeChunks chunks(4);
    chunks.resident_pages = filled ? kPagesPerBlock : 0;
    const auto mhpe = built_ins()->create<Evictor>(
        "mhpe_like", {{"interval", "2"}, {"untouch_limit", "8"}, {"distance_limit", "0"}}, 1, 4);
    std::uint64_t content = 0;
    std::vector<std::uint32_t> victims;
    const auto bring = [&](ChunkId chunk) {
      mhpe->on_allocated(chunk, ContentIndex(content));
      mhpe->on_migrated(chunk);
    };
    for (std::uint32_t chunk = 0; chunk < 4; ++chunk, ++content) bring(ChunkId{chunk});
    for (int i = 0; i < 12; ++i, ++content) {
      chunks.next = ContentIndex(content);
      const ChunkId victim = mhpe->select_victim(chunks);
      mhpe->on_released(victim);
      victims.push_back(victim.value);
      bring(victim);
    }
    // At the end the policy takes victims in turns: the oldest chunk, or the youngest of those that arrived at least
    // two intervals ago.
    const std::vector<std::uint32_t> last(victims.end() - 4, victims.end());
    EXPECT_EQ(std::set<std::uint32_t>(last.begin(), last.end()).size(), filled ? 3u : 4u);
  }
}

class EveryEvictor : public ::testing::TestWithParam<std::string> {
 public:
  static std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const PolicyEntry* entry : built_ins()->list()) {
      if (entry->slot == Slot::kEvict && entry->origin == "built-in") names.push_back(entry->info.name);
    }
    return names;
  }
};
INSTANTIATE_TEST_SUITE_P(Evict, EveryEvictor, ::testing::ValuesIn(EveryEvictor::names()),
                         [](const auto& info) { return "evict_" + info.param; });

// An empty chunk costs nothing to evict. conformance_test.cpp does not require this, because a policy may prefer
// another chunk.
TEST_P(EveryEvictor, TakesEmptiedAndDiscardedChunksFirst) {
  const auto policy = evictor(GetParam(), 4);
  const auto bring = [&](ChunkId chunk, std::uint64_t content) {
    policy->on_allocated(chunk, ContentIndex(content));
    policy->on_migrated(chunk);
  };
  for (std::uint32_t chunk = 0; chunk < 4; ++chunk) bring(ChunkId{chunk}, chunk);
  policy->on_emptied(kC);
  EXPECT_EQ(policy->select_victim(FakeChunks(4)), kC);
  policy->on_released(kC);
  bring(kC, 7);
  policy->on_emptied(kB);
  policy->on_migrated(kB);  // has pages again
  policy->on_discarded(kA);
  EXPECT_EQ(policy->select_victim(FakeChunks(4)), kA);
  policy->on_released(kA);
  EXPECT_NE(policy->select_victim(FakeChunks(4)), kA);
}

}  // namespace
}  // namespace uvmsim::policy
