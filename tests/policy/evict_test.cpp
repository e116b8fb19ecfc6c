// The evictors: examples from the driver's rules, then random histories against plain lists.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

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

// The two whose whole state is an order of last uses.
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
  for (const ChunkId chunk : {kB, kA, kC}) {
    policy->on_migrated(chunk);
  }
  for (const ChunkId chunk : {kA, kB}) {  // a prefetch call over the blocks of both, resident already
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
  for (const ChunkId chunk : {kA, kB, kC, d}) {
    lrm->on_migrated(chunk);
  }
  lrm->on_discarded(kC);
  lrm->on_emptied(kB);
  for (const ChunkId expected : {kB, kC, kA, d}) {
    EXPECT_EQ(lrm->select_victim(FakeChunks(4)), expected);
    lrm->on_released(expected);
  }
  EXPECT_FALSE(lrm->select_victim(FakeChunks(4)).valid());
}

// The policies once more with vectors: lists of the policy in the order of eviction.
class NaiveLists {
 public:
  void append(std::size_t list, ChunkId chunk) {
    remove(chunk);
    lists_.at(list).push_back(chunk);
  }
  void remove(ChunkId chunk) {
    for (auto& list : lists_) {
      list.erase(std::remove(list.begin(), list.end(), chunk), list.end());
    }
  }
  ChunkId victim(const FakeChunks& chunks) const {
    for (const auto& list : lists_) {
      for (const ChunkId chunk : list) {
        if (chunks.evictable(chunk)) {
          return chunk;
        }
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
        if (is_lru) {
          naive.append(2, chunk);
        }
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

// Every evictor, as the driver drives it: random histories of a GPU of a few chunks. The victim may be evicted, there
// is one whenever a chunk may be, empty chunks go first, and a second instance decides the same.
class EveryEvictor : public ::testing::TestWithParam<std::string> {
 public:
  static std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const PolicyEntry* entry : default_registry().list()) {
      if (entry->slot == Slot::kEvict) {
        names.push_back(entry->info.name);
      }
    }
    return names;
  }
};
INSTANTIATE_TEST_SUITE_P(Evict, EveryEvictor, ::testing::ValuesIn(EveryEvictor::names()),
                         [](const auto& info) { return "evict_" + info.param; });

struct Gpu final : EvictionQueries {
  enum class State { kFree, kPinned, kFull, kEmpty };

  explicit Gpu(std::uint32_t count) : states(count, State::kFree), contents(count) {}
  bool evictable(ChunkId chunk) const override {
    return chunk.value < states.size() && (states[chunk.value] == State::kFull || states[chunk.value] == State::kEmpty);
  }
  ChunkView view(ChunkId chunk) const override {
    return {contents[chunk.value], states[chunk.value] == State::kFull ? 512u : 0u};
  }
  Nanoseconds now() const override { return {}; }
  ContentIndex incoming() const override { return next; }
  std::uint32_t free_chunks() const override { return count(State::kFree); }
  std::uint32_t count(State state) const {
    return static_cast<std::uint32_t>(std::count(states.begin(), states.end(), state));
  }

  std::vector<State> states;
  std::vector<ContentIndex> contents;
  ContentIndex next{};
};

TEST_P(EveryEvictor, IsSafeOnRandomHistoriesOfTinyGpus) {
  for (const std::uint32_t chunks : {1u, 2u, 3u, 5u, 17u}) {
    const auto policy = evictor(GetParam(), chunks);
    const auto twin = evictor(GetParam(), chunks);
    const auto both = [&](auto call) {
      call(*policy);
      call(*twin);
    };
    Gpu gpu(chunks);
    Random random(chunks);
    for (int step = 0; step < 4000; ++step) {
      const ChunkId chunk{static_cast<std::uint32_t>(random.below(chunks))};
      Gpu::State& state = gpu.states[chunk.value];
      switch (random.below(8)) {
        case 0:
        case 1:
        case 2: {  // a miss
          gpu.next = ContentIndex(random.below(3 * chunks));
          if (std::find(gpu.contents.begin(), gpu.contents.end(), gpu.next) != gpu.contents.end()) {
            break;  // not missing after all, as far as this GPU remembers
          }
          ChunkId taken{};
          for (std::uint32_t c = 0; c < chunks && !taken.valid(); ++c) {
            if (gpu.states[c] == Gpu::State::kFree) {
              taken = ChunkId{c};
            }
          }
          if (!taken.valid()) {
            taken = policy->select_victim(gpu);
            ASSERT_EQ(taken, twin->select_victim(gpu)) << "step " << step;
            if (gpu.count(Gpu::State::kPinned) == chunks) {
              ASSERT_FALSE(taken.valid()) << "step " << step;
              break;
            }
            ASSERT_TRUE(gpu.evictable(taken)) << "step " << step;
            if (gpu.count(Gpu::State::kEmpty) > 0) {
              ASSERT_EQ(gpu.states[taken.value], Gpu::State::kEmpty) << "step " << step;
            }
            both([&](Evictor& evictor) { evictor.on_released(taken); });
          }
          gpu.contents[taken.value] = gpu.next;
          gpu.states[taken.value] = Gpu::State::kFull;
          both([&](Evictor& evictor) {
            evictor.on_allocated(taken, gpu.next);
            evictor.on_migrated(taken);
            evictor.on_migrated(taken);
          });
          break;
        }
        case 3:
          if (gpu.evictable(chunk)) {
            state = Gpu::State::kFull;
            both([&](Evictor& evictor) { evictor.on_migrated(chunk); });
          }
          break;
        case 4:
        case 5:
          if (state == Gpu::State::kFull) {
            both([&](Evictor& evictor) { evictor.on_touched(chunk); });
          }
          break;
        case 6:
          if (state == Gpu::State::kFull && random.below(4) == 0) {
            state = Gpu::State::kEmpty;
            const bool discarded = random.below(2) == 0;
            both([&](Evictor& evictor) { discarded ? evictor.on_discarded(chunk) : evictor.on_emptied(chunk); });
          } else if (gpu.evictable(chunk) && random.below(4) == 0) {  // its memory is freed
            state = Gpu::State::kFree;
            both([&](Evictor& evictor) {
              evictor.on_released(chunk);
              evictor.on_freed(gpu.contents[chunk.value]);
            });
          }
          break;
        default:  // an operation takes a chunk, or lets go of it
          if (state == Gpu::State::kFull) {
            state = Gpu::State::kPinned;
          } else if (state == Gpu::State::kPinned) {
            state = Gpu::State::kFull;
          }
          break;
      }
    }
  }
}

}  // namespace
}  // namespace uvmsim::policy
