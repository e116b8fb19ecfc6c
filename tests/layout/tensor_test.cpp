// Tensors, footprints.
#include <gtest/gtest.h>

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
  EXPECT_FALSE(world.layout.owns_memory(2));
  EXPECT_TRUE(world.layout.owns_memory(1));
  EXPECT_EQ(world.free_tensor(2), Blocks{});  // frees nothing
  EXPECT_EQ(world.free(1).size(), 5u);
}

TEST(LayoutTensors, AnEmptyOneHasAPlaceToo) {
  World world("none");
  world.object(1, 2 * kMiB);
  EXPECT_EQ(blocks_of(world.tensor(2, 0, 1, 4 * kKiB)), (Blocks{0}));
}

TEST(LayoutTensors, WithoutAnObjectAreObjects) {
  World world("none");
  EXPECT_EQ(blocks_of(world.tensor(1, 4 * kMiB)), (Blocks{0, 1}));
  EXPECT_TRUE(world.layout.owns_memory(1));
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
  EXPECT_FALSE(world.layout.allocate(device).managed);
  const Placement& tensor = world.tensor(2, kMiB, 1, kMiB);
  EXPECT_FALSE(tensor.managed);
  EXPECT_TRUE(tensor.blocks.empty());
  EXPECT_EQ(world.layout.peak_bytes(), 0u);  // not managed
}

TEST(LayoutFootprint, IsThePeakOfLiveManagedBytes) {
  World world("none");
  world.object(1, 10 * kMiB);
  world.object(2, 6 * kMiB);
  world.free(1);
  world.object(3, 4 * kMiB + 1);
  EXPECT_EQ(world.layout.live_bytes(), 10 * kMiB + 1);
  EXPECT_EQ(world.layout.peak_bytes(), 16 * kMiB);  // neither the sum of all nor what lives now
  world.tensor(4, kMiB, 3);
  EXPECT_EQ(world.layout.live_bytes(), 10 * kMiB + 1);  // tensors inside objects add nothing
}

}  // namespace
}  // namespace uvmsim::layout
