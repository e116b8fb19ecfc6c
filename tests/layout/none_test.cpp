// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/layout/world.h"

namespace uvmsim::layout {
namespace {

TEST(LayoutNone, LargeObjectsHaveARangeOfTheirOwnWithAnExactTail) {
  World world("none");
  const Placement& a = world.object(1, 2 * kMiB + 4 * kKiB);
  EXPECT_EQ(blocks_of(a), (Blocks{0, 1}));
  EXPECT_EQ(a.offset, 0u);
  EXPECT_TRUE(world.space.block(BlockIndex(0)).full_size());
  EXPECT_EQ(world.space.block(BlockIndex(1)).extent(), PageMask::range(0, 1));
  EXPECT_EQ(blocks_of(world.object(2, 2 * kMiB)), (Blocks{2}));  // never in the first one's tail
  EXPECT_TRUE(world.space.block(BlockIndex(2)).full_size());
}

TEST(LayoutNone, OneByteBelowTwoMegabytesIsASmallObject) {
  World world("none");
  EXPECT_EQ(blocks_of(world.object(1, 2 * kMiB - 1)), (Blocks{0}));
  // Rounded to 512 bytes it fills its slab; the slab itself is a whole block.
  EXPECT_EQ(world.space.block(BlockIndex(0)).extent(), PageMask::all());
  EXPECT_EQ(blocks_of(world.object(2, 1)), (Blocks{1}));
}

TEST(LayoutNone, SmallObjectsShareASlabAtMultiplesOf512) {
  World world("none");
  EXPECT_EQ(world.object(1, 1).offset, 0u);
  EXPECT_EQ(world.object(2, 513).offset, 512u);
  const Placement& third = world.object(3, 64 * kKiB);
  EXPECT_EQ(third.offset, 512u + 1024u);
  EXPECT_EQ(blocks_of(third), (Blocks{0}));
}

TEST(LayoutNone, HolesAreFilledFirstFitAndJoin) {
  World world("none");
  for (trace::ObjectId id = 1; id <= 4; ++id) world.object(id, 512 * kKiB);  // fill slab 0
  EXPECT_EQ(blocks_of(world.object(5, 4 * kKiB)), (Blocks{1}));
  world.free(2);
  world.free(3);
  const Placement& wide = world.object(6, kMiB);  // needs both holes together
  EXPECT_EQ(blocks_of(wide), (Blocks{0}));
  EXPECT_EQ(wide.offset, 512 * kKiB);
  world.free(1);
  EXPECT_EQ(world.object(7, 8 * kKiB).offset, 0u);
  EXPECT_EQ(world.object(8, 8 * kKiB).offset, 8 * kKiB);
}

TEST(LayoutNone, ASlabGoesBackWithItsLastObject) {
  World world("none");
  world.object(1, 4 * kKiB);
  world.object(2, 4 * kKiB);
  EXPECT_EQ(world.free(1), Blocks{});
  EXPECT_TRUE(world.space.block(BlockIndex(0)).live);
  EXPECT_EQ(world.free(2), (Blocks{0}));
  EXPECT_FALSE(world.space.block(BlockIndex(0)).live);
  EXPECT_EQ(blocks_of(world.object(3, 2 * kMiB)), (Blocks{0}));  // its addresses may be reused
}

TEST(LayoutNone, AFreedLargeObjectReleasesAllItsBlocks) {
  World world("none");
  world.object(1, 5 * kMiB);
  EXPECT_EQ(world.free(1), (Blocks{0, 1, 2}));
  EXPECT_EQ(blocks_of(world.object(2, 6 * kMiB)), (Blocks{0, 1, 2}));
}

TEST(LayoutNone, IgnoresRecordedAddresses) {
  World world("none");
  EXPECT_EQ(world.object(1, 2 * kMiB, 0x7f0000100000).offset, 0u);
}

}  // namespace
}  // namespace uvmsim::layout
