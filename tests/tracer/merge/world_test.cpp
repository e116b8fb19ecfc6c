// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/world.h"

#include <gtest/gtest.h>

#include "tests/tracer/merge/log_builder.h"

namespace uvmtrace {
namespace {

constexpr std::uint64_t kBase = 0x7f0000000000;

struct Piece {
  ThingIndex thing;
  std::uint64_t from, to;
  bool operator==(const Piece&) const = default;
};
void PrintTo(const Piece& piece, std::ostream* out) {
  *out << "{" << piece.thing << ", " << piece.from << ", " << piece.to << "}";
}

class WorldTest : public ::testing::Test {
 protected:
  LogBuilder log{Pass::kTiming};

  // Returns the world after all events.
  World& replay() {
    read_ = read_log(log.text(), "log", std::nullopt);
    world_ = std::make_unique<World>(read_);
    freed.clear();
    for (std::size_t i = 0; i < read_.events.size(); ++i) {
      const World::Change& change = world_->apply(i);
      freed.insert(freed.end(), change.freed.begin(), change.freed.end());
      freed_after.push_back(freed.size());
    }
    return *world_;
  }
  std::vector<Piece> cut(const World& world, std::uint64_t begin, std::uint64_t end) {
    std::vector<Piece> out;
    missed = world.cut(begin, end, [&](ThingIndex thing, std::uint64_t from, std::uint64_t to) {
      out.push_back({thing, from, to});
    });
    return out;
  }

  std::vector<ThingIndex> freed;
  std::vector<std::size_t> freed_after;  // number of frees so far, by event
  std::uint64_t missed = 0;

 private:
  PassLog read_;
  std::unique_ptr<World> world_;
};

TEST_F(WorldTest, TensorsLieInObjects) {
  log.alloc(kBase, 2 << 20);
  log.tensor_alloc(kBase + 1024, 1000);
  const World& world = replay();
  EXPECT_EQ(world.things()[1].parent, 0u);
  EXPECT_EQ(world.tensor_at(kBase + 2023), 1u);
  EXPECT_EQ(world.tensor_at(kBase + 2024), kNothing);
  EXPECT_EQ(world.holder(kBase + 1024, 1000), 1u);
  EXPECT_EQ(world.holder(kBase + 1024, 1001), 0u);
  EXPECT_EQ(world.holder(kBase + 1024, 2 << 20), kNothing);
  EXPECT_EQ(world.repairs(), 0u);
}

// A quantum inside a tensor belongs to the tensor, up to the end of the last quantum that it requested; all others
// belong to the object.
TEST_F(WorldTest, CutsAmongTensorsAndTheirObject) {
  log.alloc(kBase, 1 << 20);
  log.tensor_alloc(kBase + 1024, 1000);
  log.tensor_alloc(kBase + 4096, 512);
  const World& world = replay();
  EXPECT_EQ(cut(world, kBase, kBase + 8192),
            (std::vector<Piece>{{0, 0, 1024}, {1, 0, 1000}, {0, 2048, 4096}, {2, 0, 512}, {0, 4608, 8192}}));
  EXPECT_EQ(missed, 0u);
  EXPECT_EQ(cut(world, kBase + 1536, kBase + 2048), (std::vector<Piece>{{1, 512, 1000}}));
  EXPECT_EQ(cut(world, kBase - 1024, kBase + 512), (std::vector<Piece>{{0, 0, 512}}));
  EXPECT_EQ(missed, 1024u);
}

// Pinned memory may begin at any address: a quantum that two allocations share belongs to both.
TEST_F(WorldTest, SharedQuantum) {
  log.alloc(kBase, 700, "pinned");
  log.alloc(kBase + 800, 700, "pinned");
  const World& world = replay();
  EXPECT_EQ(cut(world, kBase + 512, kBase + 1024), (std::vector<Piece>{{0, 512, 700}, {1, 0, 224}}));
  EXPECT_EQ(missed, 0u);
}

TEST_F(WorldTest, TensorIsReusableWhenTheAllocatorSaysSo) {
  log.alloc(kBase, 1 << 20);
  log.tensor_alloc(kBase, 512);        // 1
  log.tensor_alloc(kBase + 512, 512);  // 2
  log.tensor_free(kBase);              // event 3: a "done" follows
  log.tensor_free(kBase + 512);        // event 4: no "done" follows
  log.tensor_free(kBase, true);        // event 5
  replay();
  EXPECT_EQ(freed, (std::vector<ThingIndex>{2, 1}));
  EXPECT_EQ(freed_after, (std::vector<std::size_t>{0, 0, 0, 0, 1, 2}));
}

TEST_F(WorldTest, DoneOfAnEarlierTensorAtTheSameAddress) {
  log.alloc(kBase, 1 << 20);
  log.tensor_alloc(kBase, 512);
  log.tensor_free(kBase);  // no "done" before the address is used again
  log.tensor_alloc(kBase, 512);
  log.tensor_free(kBase);
  log.tensor_free(kBase, true);
  const World& world = replay();
  EXPECT_EQ(freed, (std::vector<ThingIndex>{1, 2}));
  EXPECT_EQ(freed_after, (std::vector<std::size_t>{0, 0, 1, 1, 1, 2}));
  EXPECT_EQ(world.repairs(), 0u);
}

TEST_F(WorldTest, FreeOfASegmentTakesItsTensors) {
  log.alloc(kBase, 1 << 20);
  log.tensor_alloc(kBase, 512);
  log.free(kBase);
  const World& world = replay();
  EXPECT_EQ(freed, (std::vector<ThingIndex>{1, 0}));
  EXPECT_EQ(world.repairs(), 1u);
}

TEST_F(WorldTest, LaterEventsAreBelieved) {
  log.alloc(kBase, 1 << 20);
  log.alloc(kBase + 4096, 1 << 20);  // overlaps, so the free was not recorded
  log.free(kBase);                   // no allocation is there
  log.tensor_free(kBase);            // no tensor is there
  log.tensor_free(kBase, true);      // may be late
  const World& world = replay();
  EXPECT_EQ(freed, (std::vector<ThingIndex>{0}));
  EXPECT_EQ(world.repairs(), 3u);
}

// The driver's pool is announced around or after the program's allocations in it.
TEST_F(WorldTest, TheProgramsMemoryComesBeforeTheDrivers) {
  log.alloc(kBase, 32 << 20, "module");
  log.alloc(kBase + 4096, 4096, "pool");
  log.alloc(kBase, 64 << 20, "module");
  log.alloc(kBase + 8192, 4096, "pool");
  const World& world = replay();
  EXPECT_EQ(world.things().size(), 4u);  // the first module, the pool and the pool's content
  EXPECT_EQ(freed, (std::vector<ThingIndex>{0}));
  EXPECT_EQ(world.repairs(), 0u);
}

TEST_F(WorldTest, SegmentsAreAllocationsUnlessTheDriverToldThem) {
  log.alloc(kBase, 2 << 20);
  log.raw(R"({"t":"segment_alloc","seq":1000,"tid":0,"va":)" + std::to_string(kBase) +
          R"(,"bytes":2097152,"stream":0})");
  log.raw(R"({"t":"segment_alloc","seq":1001,"tid":0,"va":4194304,"bytes":2097152,"stream":0})");
  log.raw(R"({"t":"segment_free","seq":1002,"tid":0,"va":)" + std::to_string(kBase) + R"(,"bytes":2097152})");
  log.raw(R"({"t":"segment_free","seq":1003,"tid":0,"va":4194304,"bytes":2097152})");
  const World& world = replay();
  EXPECT_EQ(world.things().size(), 2u);
  EXPECT_EQ(freed, (std::vector<ThingIndex>{1}));
  EXPECT_TRUE(world.things()[0].live);
  EXPECT_EQ(world.repairs(), 0u);
}

}  // namespace
}  // namespace uvmtrace
