// SPDX-License-Identifier: Apache-2.0
// The arena of TensorFlow and XLA: closed forms, and random programs against a plain second implementation.
#include "sim/layout/best_fit_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "tests/layout/world.h"
#include "tests/policy/message_of.h"

namespace uvmsim::layout::best_fit_allocator_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Arena {
  explicit Arena(std::uint64_t bytes, bool allow_growth = false) : model(bytes, allow_growth) {}
  std::uint64_t add(std::uint64_t bytes) { return (last = model.allocate(bytes, 0)).id; }
  std::uint64_t offset_of(std::uint64_t bytes) { return add(bytes), last.offset; }

  BestFitAllocator model;
  TensorAllocator::Placed last;
};

TEST(BestFitAllocator, TakesTheWholeArenaWithTheFirstTensor) {
  Arena arena(64 * kMiB);
  arena.add(1);
  EXPECT_TRUE(arena.last.new_segment);
  EXPECT_EQ(arena.last.bytes, 256u);
  EXPECT_EQ(arena.last.segment_bytes, 64 * kMiB);
  EXPECT_EQ(arena.model.reserved_bytes(), 64 * kMiB);
  EXPECT_EQ(arena.offset_of(257), 256u);
  EXPECT_FALSE(arena.last.new_segment);
  EXPECT_EQ(arena.offset_of(1), 768u) << "257 bytes take 512";
}

TEST(BestFitAllocator, TheSmallestChunkThatFitsIsTaken) {
  Arena arena(64 * kMiB);
  const std::uint64_t large = arena.add(8 * kKiB);
  arena.add(256);
  const std::uint64_t middle = arena.add(4 * kKiB);
  arena.add(256);
  const std::uint64_t small = arena.add(2 * kKiB);
  arena.add(256);
  for (const std::uint64_t id : {large, middle, small}) arena.model.free(id);
  EXPECT_EQ(arena.offset_of(3 * kKiB), 8 * kKiB + 256) << "the one of 4 KiB";
  EXPECT_EQ(arena.last.bytes, 4 * kKiB) << "given whole: it is less than twice the request";
  EXPECT_EQ(arena.offset_of(kKiB), 12 * kKiB + 512) << "the one of 2 KiB, split";
  EXPECT_EQ(arena.last.bytes, kKiB);
  EXPECT_EQ(arena.offset_of(kKiB), 13 * kKiB + 512) << "its rest";
  EXPECT_EQ(arena.offset_of(8 * kKiB), 0u);
}

TEST(BestFitAllocator, AmongEqualChunksTheLowestIsTaken) {
  Arena arena(64 * kMiB);
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(arena.add(kKiB));
  for (const int i : {4, 2, 0}) arena.model.free(ids[static_cast<std::size_t>(i)]);
  for (const std::uint64_t at : {0 * kKiB, 2 * kKiB, 4 * kKiB}) EXPECT_EQ(arena.offset_of(kKiB), at);
}

TEST(BestFitAllocator, FreeNeighboursBecomeOneChunk) {
  // The test uses every order of freeing.
  for (std::vector<std::size_t> order{0, 1, 2}; std::next_permutation(order.begin(), order.end());) {
    Arena arena(64 * kMiB);
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < 3; ++i) ids.push_back(arena.add(kMiB));
    arena.add(kMiB);
    for (const std::size_t i : order) arena.model.free(ids[i]);
    EXPECT_EQ(arena.offset_of(3 * kMiB), 0u);
    EXPECT_EQ(arena.model.allocated_bytes(), 4 * kMiB);
  }
}

TEST(BestFitAllocator, AFreedAddressIsUsedAgain) {
  Arena arena(64 * kMiB);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(arena.offset_of(30 * kMiB), 0u);
    EXPECT_EQ(arena.model.reserved_bytes(), 64 * kMiB);
    arena.model.free(arena.last.id);
  }
  EXPECT_EQ(arena.model.allocated_bytes(), 0u);
}

TEST(BestFitAllocator, ALargeRestIsSplitOff) {
  Arena arena(1024 * kMiB);
  const std::uint64_t hole = arena.add(400 * kMiB);
  arena.add(256);
  arena.model.free(hole);
  arena.add(300 * kMiB);
  EXPECT_EQ(arena.last.bytes, 400 * kMiB) << "100 MiB are slack";
  arena.model.free(arena.last.id);
  arena.add(272 * kMiB);
  EXPECT_EQ(arena.last.bytes, 272 * kMiB) << "128 MiB are not";
}

TEST(BestFitAllocator, StreamsShareTheArena) {
  Arena arena(64 * kMiB);
  const auto placed = arena.model.allocate(kMiB, 7);
  arena.model.free(placed.id);
  EXPECT_EQ(arena.model.allocate(kMiB, 3).offset, placed.offset);
}

TEST(BestFitAllocator, GrowthOpensRegionsTwiceAsLarge) {
  Arena arena(64 * kMiB, true);
  std::vector<std::uint64_t> sizes;
  for (int i = 0; i < 31; ++i) {
    arena.add(2 * kMiB);
    if (arena.last.new_segment) sizes.push_back(arena.last.segment_bytes / kMiB);
  }
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{2, 4, 8, 16, 32}));
  EXPECT_EQ(arena.offset_of(2 * kMiB), 0u) << "the last 2 MiB";
  EXPECT_EQ(arena.last.segment_bytes, 2 * kMiB);
  EXPECT_EQ(arena.model.reserved_bytes(), 64 * kMiB);
}

TEST(BestFitAllocator, GrowthMakesRoomForALargeTensor) {
  Arena arena(64 * kMiB, true);
  arena.add(9 * kMiB);
  EXPECT_EQ(arena.last.segment_bytes, 16 * kMiB);
  arena.add(12 * kMiB);
  EXPECT_EQ(arena.last.segment_bytes, 16 * kMiB) << "doubled for the request, not once more";
  EXPECT_EQ(arena.model.reserved_bytes(), 32 * kMiB);
}

TEST(BestFitAllocator, AnArenaThatIsTooSmallIsAnError) {
  for (const bool growth : {false, true}) {
    Arena arena(8 * kMiB, growth);
    arena.add(5 * kMiB);
    const std::uint64_t held = arena.model.allocated_bytes();
    const std::string message = message_of([&] { arena.add(4 * kMiB); });
    EXPECT_THAT(message, AllOf(HasSubstr("a tensor of 4194304 bytes"), HasSubstr("the arena has 8388608"),
                               HasSubstr(std::to_string(held) + " are in use"), HasSubstr("memory_fraction")));
  }
}

// The allocator waits for blocks that another stream may use before it counts the arena as full.
TEST(BestFitAllocator, WaitsBeforeItFails) {
  Arena arena(8 * kMiB);
  const std::uint64_t id = arena.add(8 * kMiB);
  arena.model.free_later(id);
  EXPECT_EQ(arena.offset_of(8 * kMiB), 0u);
  arena.model.finish(id);
  EXPECT_EQ(arena.model.allocated_bytes(), 8 * kMiB);
}

// A reference with the same rules and no bookkeeping: a list of used ranges, in order; the gaps are free.
class PlainArena {
 public:
  struct Used {
    std::uint64_t region, begin, end, id;
    bool operator<(const Used& other) const { return std::pair(region, begin) < std::pair(other.region, other.begin); }
  };
  PlainArena(std::uint64_t bytes, bool growth) : left_(bytes), next_(growth ? 2 * kMiB : bytes) {}

  std::optional<Used> allocate(std::uint64_t bytes) {
    const std::uint64_t size = (bytes + 255) & ~std::uint64_t{255};
    auto hole = smallest_hole(size);
    if (!hole) {
      if (size > left_) return std::nullopt;
      const std::uint64_t before = next_;
      while (next_ < size) next_ *= 2;
      regions_.push_back(std::min(next_, left_));
      left_ -= regions_.back();
      if (next_ == before) next_ *= 2;
      hole = smallest_hole(size);
    }
    const std::uint64_t room = hole->end - hole->begin;
    const bool whole = room < 2 * size && room - size < 128 * kMiB;
    const Used used{hole->region, hole->begin, whole ? hole->end : hole->begin + size, ++ids_};
    used_.insert(std::upper_bound(used_.begin(), used_.end(), used), used);
    return used;
  }
  void free(std::uint64_t id) {
    std::erase_if(used_, [&](const Used& used) { return used.id == id; });
  }
  std::uint64_t in_use() const {
    std::uint64_t bytes = 0;
    for (const Used& used : used_) bytes += used.end - used.begin;
    return bytes;
  }

 private:
  std::optional<Used> smallest_hole(std::uint64_t size) const {
    std::optional<Used> best;
    const auto offer = [&](std::uint64_t region, std::uint64_t begin, std::uint64_t end) {
      if (end - begin < size || (best && best->end - best->begin <= end - begin)) return;
      best = Used{region, begin, end, 0};
    };
    for (std::uint64_t region = 0; region < regions_.size(); ++region) {
      std::uint64_t at = 0;
      for (const Used& used : used_) {
        if (used.region != region) continue;
        offer(region, at, used.begin);
        at = used.end;
      }
      offer(region, at, regions_[region]);
    }
    return best;
  }

  std::uint64_t left_, next_, ids_ = 0;
  std::vector<std::uint64_t> regions_;
  std::vector<Used> used_;
};

TEST(BestFitAllocator, RandomProgramsEqualThePlainArena) {
  std::uint64_t placed = 0, full = 0, split_at_slack = 0;
  for (unsigned seed = 1; seed <= 24; ++seed) {
    const bool growth = seed % 2 == 0;
    const std::uint64_t bytes = (seed % 3 == 0 ? 4096 : 96) * kMiB;
    BestFitAllocator model(bytes, growth);
    PlainArena plain(bytes, growth);
    std::mt19937 random(seed);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> live;  // ids
    for (int step = 0; step < 600; ++step) {
      if (random() % 100 < 45 && !live.empty()) {
        const std::size_t i = random() % live.size();
        model.free(live[i].first);
        plain.free(live[i].second);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        const std::uint64_t most[] = {600, 100 * kKiB, 3 * kMiB, bytes / 4};
        const std::uint64_t request = 1 + random() % most[random() % 4];
        const auto expected = plain.allocate(request);
        if (!expected) {
          ASSERT_THROW(model.allocate(request, 0), InputError) << "seed " << seed << " step " << step;
          ++full;
          continue;
        }
        const auto got = model.allocate(request, static_cast<std::uint32_t>(random() % 3));
        ASSERT_EQ(got.segment, expected->region) << "seed " << seed << " step " << step;
        ASSERT_EQ(got.offset, expected->begin) << "seed " << seed << " step " << step;
        ASSERT_EQ(got.bytes, expected->end - expected->begin) << "seed " << seed << " step " << step;
        live.emplace_back(got.id, expected->id);
        ++placed;
        split_at_slack += got.bytes > 128 * kMiB ? 1 : 0;
      }
      ASSERT_EQ(model.allocated_bytes(), plain.in_use());
    }
  }
  EXPECT_GT(placed, 5000u);
  EXPECT_GT(full, 50u);
  EXPECT_GT(split_at_slack, 50u);
}

// Tests of the layout that uses the allocator.

LayoutChoice arena_of(const char* bytes) { return {kPreallocating, {{"arena_bytes", bytes}}}; }

TEST(Preallocating, TheFootprintIsTheArenaAndWhatElseThereIs) {
  World world(arena_of("65MiB"));
  EXPECT_EQ(world.layout.peak_chunk_bytes(), 0u) << "nothing is taken before the first tensor";
  world.segment(1, 20 * kMiB);
  EXPECT_EQ(blocks_of(world.tensor(2, 3 * kMiB, 1)).size(), 2u);
  EXPECT_EQ(world.taken.calls, 1u);
  EXPECT_EQ(world.taken.bytes, 64 * kMiB) << "whole chunks of 2 MiB";
  EXPECT_EQ(world.layout.arena_reached_bytes(), 3 * kMiB);
  world.tensor(3, 5 * kMiB, 1);
  EXPECT_EQ(world.taken.calls, 0u);
  EXPECT_EQ(world.layout.arena_reached_bytes(), 8 * kMiB);
  world.object(4, 4 * kMiB);
  EXPECT_EQ(world.layout.peak_chunk_bytes(), 68 * kMiB);
  EXPECT_TRUE(world.free_tensor(2).empty()) << "nothing goes back to the driver";
  world.free_tensor(3);
  world.layout.forget(2);
  world.layout.forget(3);
  world.free(1);
  EXPECT_TRUE(world.layout.released().empty());
  world.segment(5, 20 * kMiB);
  EXPECT_EQ(blocks_of(world.tensor(6, 8 * kMiB, 5)), (Blocks{0, 1, 2, 3})) << "the same addresses again";
  EXPECT_EQ(world.layout.arena_reached_bytes(), 8 * kMiB);
}

TEST(Preallocating, GrowthIsOneCallPerRegion) {
  World world({kPreallocating, {{"arena_bytes", "64MiB"}, {"allow_growth", "true"}}});
  world.segment(1, 20 * kMiB);
  std::uint64_t calls = 0;
  for (trace::ObjectId id = 2; id < 9; ++id) {
    world.tensor(id, 2 * kMiB, 1);
    calls += world.taken.calls;
  }
  EXPECT_EQ(calls, 3u);  // 2, 4, 8 MiB
  EXPECT_EQ(world.layout.peak_chunk_bytes(), 14 * kMiB);
}

TEST(Preallocating, OtherLayoutsHaveNoArena) {
  World world("pytorch_caching");
  world.tensor(1, 3 * kMiB);
  EXPECT_EQ(world.layout.arena_reached_bytes(), 0u);
}

TEST(Preallocating, AShareIsOfTheGpusMemory) {
  constexpr std::uint64_t kGpu = std::uint64_t{80} << 30;
  const auto arena = [&](const char* text) { return resolve(on_gpu(parse_layout(text), kGpu)).integer("arena_bytes"); };
  EXPECT_EQ(arena("preallocating"), std::int64_t{60} << 30) << "JAX's 0.75";
  EXPECT_EQ(arena("preallocating:memory_fraction=0.5"), std::int64_t{40} << 30);
  EXPECT_EQ(arena("preallocating:memory_fraction=2"), std::int64_t{160} << 30) << "unified memory";
  EXPECT_EQ(arena("preallocating:memory_fraction=0.9") % (2 << 20), 0);
  EXPECT_EQ(arena("preallocating:arena_bytes=3GiB"), std::int64_t{3} << 30);
  EXPECT_EQ(on_gpu("pytorch_caching", kGpu), LayoutChoice("pytorch_caching"));
}

TEST(Preallocating, ErrorsSayWhatIsWrong) {
  const auto message = [](const char* text, std::uint64_t gpu) {
    return message_of([&] { World world(on_gpu(parse_layout(text), gpu)); });
  };
  EXPECT_THAT(message("preallocating:arena_bytes=1GiB,memory_fraction=0.5", 1), HasSubstr("give one of them"));
  EXPECT_THAT(message("preallocating:arena_bytes=1MiB", 1), HasSubstr("1048576 is too small; allowed: 0, 2097152 to"));
  EXPECT_THAT(message("preallocating:memory_fraction=0", 1), HasSubstr("out of range"));
  EXPECT_THAT(message("preallocating:memory_fraction=0.5", 2 << 20),
              HasSubstr("is an arena of 0; allowed: 2097152 to"));
  EXPECT_THAT(message("preallocating:memory_fraction=64", std::uint64_t{1} << 40), HasSubstr("is an arena of"));
  EXPECT_THAT(message_of([] { World world(kPreallocating); }),
              HasSubstr("no GPU is known here; allowed: arena_bytes=SIZE"));
}

}  // namespace
}  // namespace uvmsim::layout::best_fit_allocator_test
