// SPDX-License-Identifier: Apache-2.0
// Expandable segments: cases computed by hand.
#include "sim/layout/expandable_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/common/error.h"

namespace uvmsim::layout::expandable_allocator_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Placed = ExpandableAllocator::Placed;
using Range = TensorAllocator::Range;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

AllocatorSettings reservations_of(std::uint64_t bytes, std::uint64_t limit = 0) {
  AllocatorSettings settings;
  settings.reservation_bytes = bytes;
  settings.memory_limit_bytes = limit;
  return settings;
}

TEST(ExpandableSegments, GetMemoryInHandlesOfTwoAndTwentyMebibytes) {
  ExpandableAllocator allocator;
  const Placed small = allocator.allocate(1, 0);
  EXPECT_TRUE(small.new_segment);
  EXPECT_EQ(small.bytes, 512u);
  EXPECT_THAT(allocator.taken(), ElementsAre(Range{0, 0, 2 * kMiB}));
  const Placed large = allocator.allocate(kMiB + 1, 0);
  EXPECT_TRUE(large.new_segment);
  EXPECT_THAT(allocator.taken(), ElementsAre(Range{1, 0, 20 * kMiB}));
  EXPECT_FALSE(allocator.allocate(45 * kMiB, 0).new_segment);  // the segment grows: 46 MiB and 512 bytes need 3 handles
  EXPECT_THAT(allocator.taken(), ElementsAre(Range{1, 20 * kMiB, 40 * kMiB}));
  EXPECT_EQ(allocator.reserved_bytes(), 62 * kMiB);
  EXPECT_EQ(allocator.segment_count(), 2u);
}

TEST(ExpandableSegments, RequestsContinueWhereMemoryEnds) {
  ExpandableAllocator allocator;
  const Placed first = allocator.allocate(15 * kMiB, 0);
  const Placed second = allocator.allocate(15 * kMiB, 0);
  EXPECT_EQ(second.segment, first.segment);
  EXPECT_EQ(second.offset, 15 * kMiB);  // across both handles: nothing is lost, as it would be with 16 MiB segments
  EXPECT_THAT(allocator.taken(), ElementsAre(Range{0, 20 * kMiB, 20 * kMiB}));
  EXPECT_EQ(allocator.reserved_bytes(), 40 * kMiB);
}

TEST(ExpandableSegments, RemaindersFrom512BytesOnAreSplitOff) {
  ExpandableAllocator allocator;
  allocator.free(allocator.allocate(20 * kMiB, 0).id);
  EXPECT_EQ(allocator.allocate(20 * kMiB - 512, 0).bytes, 20 * kMiB - 512);  // 1 MiB would stay whole elsewhere
  EXPECT_EQ(allocator.allocate(2 * kMiB, 0).offset, 20 * kMiB - 512);
}

TEST(ExpandableSegments, TheBlockAtTheEndIsTakenLast) {
  ExpandableAllocator allocator;
  const Placed a = allocator.allocate(18 * kMiB, 0);
  // takes 18 to 22 MiB; 18 MiB remain before it, and addresses without memory after it
  const Placed b = allocator.allocate(4 * kMiB, 0);
  allocator.free(a.id);  // frees 18 MiB too
  EXPECT_EQ(allocator.allocate(17 * kMiB, 0).offset, 0u);
  EXPECT_EQ(allocator.allocate(16 * kMiB, 0).offset, 22 * kMiB);
  allocator.free(b.id);
}

TEST(ExpandableSegments, ALargerBlockWithinComesBeforeASmallerOneAtTheEnd) {
  ExpandableAllocator allocator;
  const Placed a = allocator.allocate(19 * kMiB, 0);
  allocator.allocate(11 * kMiB, 0);  // takes 19 to 30 MiB; 10 MiB remain at the end
  allocator.free(a.id);
  // The 10 MiB at the end are the smallest block, but together with the addresses after them the largest.
  EXPECT_EQ(allocator.allocate(9 * kMiB, 0).offset, 0u);
}

TEST(ExpandableSegments, StreamsAndSizesHaveTheirOwn) {
  ExpandableAllocator allocator;
  for (const std::uint32_t stream : {0U, 1U}) {
    EXPECT_TRUE(allocator.allocate(100, stream).new_segment);
    EXPECT_TRUE(allocator.allocate(3 * kMiB, stream).new_segment);
  }
  EXPECT_EQ(allocator.segment_count(), 4u);
  EXPECT_EQ(allocator.reserved_bytes(), 44 * kMiB);
}

TEST(ExpandableSegments, AFullReservationIsFollowedByAnother) {
  ExpandableAllocator allocator(reservations_of(40 * kMiB));
  EXPECT_EQ(allocator.allocate(30 * kMiB, 0).segment_bytes, 40 * kMiB);
  EXPECT_TRUE(allocator.allocate(11 * kMiB, 0).new_segment);  // 10 are left
  const Placed larger = allocator.allocate(41 * kMiB, 0);
  EXPECT_TRUE(larger.new_segment);
  EXPECT_EQ(larger.segment_bytes, 60 * kMiB);
}

TEST(ExpandableSegments, EmptyCacheTakesWholeHandlesOutOfTheMiddle) {
  ExpandableAllocator allocator;
  std::vector<Placed> blocks;
  for (const std::uint64_t mib : {15U, 50U, 15U}) blocks.push_back(allocator.allocate(mib * kMiB, 0));  // 80 MiB
  allocator.free(blocks[1].id);  // 15 to 65 MiB: the handles at 20 and 40 MiB
  allocator.empty_cache();
  EXPECT_THAT(allocator.released(), ElementsAre(Range{0, 20 * kMiB, 40 * kMiB}));
  EXPECT_EQ(allocator.reserved_bytes(), 40 * kMiB);
  // The rest of the block, 5 MiB on either side, is used for requests that fit; the hole is mapped again, the lowest
  // part first.
  EXPECT_EQ(allocator.allocate(5 * kMiB, 0).offset, 60 * kMiB);  // the one before the hole can grow
  EXPECT_THAT(allocator.taken(), IsEmpty());
  const Placed across = allocator.allocate(20 * kMiB, 0);
  EXPECT_EQ(across.offset, 15 * kMiB);  // 5 MiB that are there and 15 that are not
  EXPECT_THAT(allocator.taken(), ElementsAre(Range{0, 20 * kMiB, 20 * kMiB}));
}

TEST(ExpandableSegments, ASegmentWithoutMemoryIsGivenBack) {
  ExpandableAllocator allocator;
  allocator.free(allocator.allocate(50 * kMiB, 0).id);
  allocator.empty_cache();
  EXPECT_THAT(allocator.released(), ElementsAre(Range{0, 0, 60 * kMiB}));
  const Placed again = allocator.allocate(2 * kMiB, 0);
  EXPECT_TRUE(again.new_segment);
  EXPECT_EQ(again.segment, 1u);
}

TEST(ExpandableSegments, ALimitTakesFreeHandlesBack) {
  ExpandableAllocator allocator(reservations_of(400 * kMiB, 100 * kMiB));
  const Placed a = allocator.allocate(50 * kMiB, 0);
  allocator.free(allocator.allocate(40 * kMiB, 1).id);
  allocator.allocate(30 * kMiB, 0);  // 60 + 40 + 30 MiB are too much
  EXPECT_THAT(allocator.released(), ElementsAre(Range{1, 0, 40 * kMiB}));
  EXPECT_THROW(allocator.allocate(60 * kMiB, 0), InputError);
  allocator.free(a.id);
}

}  // namespace
}  // namespace uvmsim::layout::expandable_allocator_test
