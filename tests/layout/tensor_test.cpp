// SPDX-License-Identifier: Apache-2.0
// Tensors, footprints.
#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "tests/layout/world.h"

namespace uvmsim::layout {
namespace {

TEST(LayoutTensors, LieInsideTheirObject) {
  World world("recorded");
  const Blocks object = blocks_of(world.object(1, 8 * kMiB, 0x7f0000100000));  // starts 1 MiB into a window
  ASSERT_EQ(object.size(), 5u);
  const Placement& tensor = world.tensor(2, 2 * kMiB, 1, 2 * kMiB + 4 * kKiB);
  EXPECT_EQ(tensor.offset, kMiB + 4 * kKiB);
  EXPECT_EQ(blocks_of(tensor), (Blocks{object[1], object[2]}));
  EXPECT_FALSE(world.layout.find(2).owns);
  EXPECT_TRUE(world.layout.find(1).owns);
  EXPECT_EQ(world.free_tensor(2), Blocks{});          // frees nothing
  EXPECT_EQ(world.layout.find(2).blocks.size(), 2u);  // for kernels that were launched before
  world.layout.forget(2);
  EXPECT_THROW(world.layout.find(2), InputError);
  EXPECT_EQ(world.free(1).size(), 5u);
}

TEST(LayoutTensors, AnEmptyOneHasAPlaceToo) {
  World world("recorded");
  world.object(1, 2 * kMiB);
  EXPECT_EQ(blocks_of(world.tensor(2, 0, 1, 4 * kKiB)), (Blocks{0}));
}

TEST(LayoutTensors, WithoutAnObjectAreObjects) {
  World world("none");
  EXPECT_EQ(blocks_of(world.tensor(1, 4 * kMiB)), (Blocks{0, 1}));
  EXPECT_TRUE(world.layout.find(1).owns);
  EXPECT_EQ(world.layout.live_bytes(), 4 * kMiB);
  EXPECT_EQ(world.free_tensor(1), (Blocks{0, 1}));
  EXPECT_EQ(world.layout.live_bytes(), 0u);
}

TEST(LayoutTensors, OfUnmanagedObjectsHaveNoBlocks) {
  World world("none");
  trace::ObjectAlloc device;
  device.id = 1;
  device.kind = trace::ObjectKind::kDevice;
  device.bytes = 4 * kMiB;
  EXPECT_FALSE(world.layout.allocate(device).placement.managed);
  const Placement& tensor = world.tensor(2, kMiB, 1, kMiB);
  EXPECT_FALSE(tensor.managed);
  EXPECT_TRUE(tensor.blocks.empty());
  EXPECT_EQ(world.layout.peak_chunk_bytes(), 0u);  // not managed
}

TEST(LayoutFootprint, IsWhatHoldsAllLiveManagedMemoryAtItsPeak) {
  World world("none");
  world.object(1, 10 * kMiB);
  world.object(2, 6 * kMiB);
  world.free(1);
  world.object(3, 4 * kMiB + 1);
  EXPECT_EQ(world.layout.live_bytes(), 10 * kMiB + 1);
  EXPECT_EQ(world.layout.peak_chunk_bytes(), 16 * kMiB);  // neither the sum of all tensors nor the live ones
}

TEST(LayoutFootprint, IsWholeChunksThatShortBlocksShareInSlots) {
  World small("none");
  small.object(1, 3 * kMiB);
  EXPECT_EQ(small.layout.peak_chunk_bytes(), 4 * kMiB);
  World many("none");
  for (int i = 1; i <= 40; ++i) many.object(static_cast<trace::ObjectId>(i), 2 * kMiB + 64 * 1024);
  EXPECT_EQ(many.layout.peak_chunk_bytes(), 42 * 2 * kMiB) << "as engine_test's ShortAllocationsShareChunks evicts";
  for (int i = 1; i <= 40; ++i) many.free(static_cast<trace::ObjectId>(i));
  many.object(41, 84 * kMiB);
  EXPECT_EQ(many.layout.peak_chunk_bytes(), 42 * 2 * kMiB) << "all of it was given back";
}

TEST(LayoutFootprint, TensorsInsideRecordedObjectsAddNothing) {
  World world("recorded");
  world.object(1, 10 * kMiB);
  world.tensor(2, kMiB, 1);
  EXPECT_EQ(world.taken.bytes, 0u);
  EXPECT_EQ(world.layout.live_bytes(), 10 * kMiB);
}

TEST(LayoutTensors, AreFreedOnce) {
  for (const std::string& name : layout_names()) {
    World world(on_gpu(name, std::uint64_t{1} << 30));  // the share of a GPU that `preallocating` takes
    world.object(1, 4 * kMiB);
    world.tensor(2, kMiB, 1);
    EXPECT_THROW(world.tensor(2, kMiB, 1), InputError) << name;
    EXPECT_THROW(world.free(2), InputError) << name;  // not an object
    EXPECT_THROW(world.free(1), InputError) << name;  // a tensor lives in it
    world.free_tensor(2);
    EXPECT_THROW(world.free_tensor(2), InputError) << name;
    EXPECT_THROW(world.free(2), InputError) << name;
    EXPECT_THROW(world.tensor(3, 4 * kMiB, 1, 1), InputError) << name;  // ends past its object
    EXPECT_EQ(world.free(1), (Blocks{0, 1})) << name;
  }
}

// --- none: every tensor is an allocation of its own ---

TEST(LayoutNoneTensors, LieByThemselvesAndTheirSegmentHasNoMemory) {
  World world("none");
  EXPECT_TRUE(world.segment(1, 20 * kMiB, 0x7f0000000000).blocks.empty());
  EXPECT_EQ(world.taken.bytes, 0u);
  EXPECT_TRUE(world.layout.has_empty_segments());
  const Placement& tensor = world.tensor(2, 3 * kMiB, 1, 4 * kMiB);
  EXPECT_EQ(blocks_of(tensor), (Blocks{0, 1}));
  EXPECT_EQ(tensor.offset, 0u);
  EXPECT_TRUE(world.layout.find(2).owns);
  EXPECT_EQ(world.taken.bytes, 3 * kMiB);
  EXPECT_EQ(world.tensor(3, 1000, 1, 8 * kMiB).offset, 0u);
  EXPECT_EQ(world.layout.live_bytes(), 3 * kMiB + 1000);
  EXPECT_EQ(world.free_tensor(2), (Blocks{0, 1}));
  EXPECT_THROW(world.layout.find(2), InputError);
  world.free_tensor(3);
  EXPECT_FALSE(world.layout.find(1).owns);
  EXPECT_EQ(world.free(1), Blocks{});
  EXPECT_FALSE(world.layout.has_empty_segments());
  EXPECT_EQ(world.layout.live_bytes(), 0u);
}

TEST(LayoutNoneTensors, ATouchedSegmentGetsMemory) {
  World world("none");
  world.segment(1, 6 * kMiB);
  world.tensor(2, 2 * kMiB, 1);
  EXPECT_EQ(world.layout.touch(2).bytes, 0u);  // has memory of its own
  EXPECT_EQ(world.layout.touch(1).bytes, 6 * kMiB);
  EXPECT_EQ(blocks_of(world.layout.find(1)), (Blocks{1, 2, 3}));
  EXPECT_TRUE(world.layout.find(1).owns);
  EXPECT_FALSE(world.layout.has_empty_segments());
  EXPECT_EQ(world.layout.touch(1).bytes, 0u);
  EXPECT_EQ(world.layout.peak_chunk_bytes(), 8 * kMiB);
  world.free_tensor(2);
  EXPECT_EQ(world.free(1), (Blocks{1, 2, 3}));
}

}  // namespace
}  // namespace uvmsim::layout
