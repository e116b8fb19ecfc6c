// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/layout/world.h"
#include "tests/policy/message_of.h"

namespace uvmsim::layout {
namespace {

constexpr std::uint64_t kBase = 0x7f0000000000;

TEST(LayoutRecorded, KeepsTheOffsetWithinTwoMegabytes) {
  World world("recorded");
  const Placement& placement = world.object(1, 2 * kMiB, kBase + 512 * kKiB);
  EXPECT_EQ(placement.offset, 512 * kKiB);
  EXPECT_EQ(placement.blocks.size(), 2u);  // it crosses a boundary
}

TEST(LayoutRecorded, SmallObjectsOfOneWindowShareItsBlock) {
  World world("recorded");
  const Blocks first = blocks_of(world.object(1, kMiB, kBase));
  const Blocks across = blocks_of(world.object(2, 3 * kMiB / 2, kBase + 3 * kMiB / 2));  // extends into the next window
  const Blocks second = blocks_of(world.object(3, kMiB / 2, kBase + 3 * kMiB));
  const Blocks far = blocks_of(world.object(4, kMiB, kBase + 64 * kMiB));
  ASSERT_EQ(across.size(), 2u);
  EXPECT_EQ(first, (Blocks{across[0]}));
  EXPECT_EQ(second, (Blocks{across[1]}));
  EXPECT_EQ(std::count(across.begin(), across.end(), far[0]), 0);
  // A shared block stays until its last user is gone.
  EXPECT_EQ(world.free(1), Blocks{});
  EXPECT_TRUE(world.space.block(BlockIndex(across[0])).live);
  EXPECT_EQ(world.free(2), (Blocks{across[0]}));
  EXPECT_TRUE(world.space.block(BlockIndex(across[1])).live);
  EXPECT_EQ(world.free(3), (Blocks{across[1]}));
}

TEST(LayoutRecorded, AlignedObjectsOfTwoMegabytesOwnTheirRange) {
  World world("recorded");
  const Blocks large = blocks_of(world.object(1, 3 * kMiB, kBase));
  ASSERT_EQ(large.size(), 2u);
  EXPECT_EQ(world.space.block(BlockIndex(large[1])).extent(), PageMask::range(0, 256));
  const Blocks next = blocks_of(world.object(2, kMiB, kBase + 3 * kMiB));  // same window, another range
  EXPECT_NE(next[0], large[1]);
  EXPECT_EQ(world.free(1), large);
  EXPECT_EQ(world.free(2), next);
}

TEST(LayoutRecorded, WindowsAreDenseWhateverTheAddresses) {
  World world("recorded");
  world.object(1, 2 * kMiB, kBase);
  world.object(2, 2 * kMiB, kBase + (std::uint64_t{1} << 40));
  EXPECT_EQ(world.space.block_count(), 2u);
}

TEST(LayoutRecorded, WithoutAnAddressAnObjectLiesAsUnderNone) {
  World world("recorded");
  EXPECT_EQ(world.object(1, 4 * kKiB).offset, 0u);
  const Placement& second = world.object(2, 4 * kKiB);
  EXPECT_EQ(second.offset, 4 * kKiB);
  EXPECT_EQ(world.free(1), Blocks{});
  EXPECT_EQ(world.free(2), (Blocks{0}));
}

TEST(LayoutRecorded, AnAddressCanBeUsedAgainOnceFree) {
  World world("recorded");
  world.object(1, kMiB, kBase);
  world.free(1);
  EXPECT_EQ(blocks_of(world.object(2, kMiB, kBase)), (Blocks{0}));
}

TEST(LayoutRecorded, RefusesOverlaps) {
  World world("recorded");
  world.object(1, 4 * kMiB, kBase);
  const std::uint64_t overlapping[] = {kBase, kBase + 4 * kMiB - 1, kBase + kMiB, kBase - 1};
  for (const std::uint64_t va : overlapping) {
    const std::string message = message_of([&] { world.object(2, kMiB, va); });
    EXPECT_NE(message.find("overlaps a live one"), std::string::npos) << message;
    EXPECT_NE(message.find(fmt::format("{:#x}", va)), std::string::npos) << message;
  }
  world.object(3, kMiB, kBase + 4 * kMiB);  // just after it
  world.object(4, kMiB, kBase - kMiB);      // just before it
}

TEST(LayoutRecorded, RefusesAnAddressAtTheEndOfAll) {
  World world("recorded");
  const std::string message = message_of([&] { world.object(1, 4 * kMiB, ~std::uint64_t{0} - kMiB); });
  EXPECT_NE(message.find("4194304 bytes"), std::string::npos) << message;
}

}  // namespace
}  // namespace uvmsim::layout
