// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/caching_allocator.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace uvmsim::layout::caching_allocator_test {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
using Placed = CachingAllocator::Placed;

TEST(CachingAllocator, RoundsTo512AndOpensSmallSegments) {
  CachingAllocator allocator;
  const Placed one = allocator.allocate(1, 0);
  EXPECT_EQ(one.bytes, 512u);
  EXPECT_TRUE(one.new_segment);
  EXPECT_EQ(one.segment_bytes, 2 * kMiB);
  const Placed second = allocator.allocate(513, 0);
  EXPECT_FALSE(second.new_segment);
  EXPECT_EQ(second.offset, 512u);
  EXPECT_EQ(second.bytes, 1024u);
}

TEST(CachingAllocator, OneMebibyteIsSmallAndFillsHalfASegment) {
  CachingAllocator allocator;
  EXPECT_EQ(allocator.allocate(kMiB, 0).segment_bytes, 2 * kMiB);
  const Placed second = allocator.allocate(kMiB, 0);
  EXPECT_EQ(second.offset, kMiB);
  EXPECT_FALSE(second.new_segment);
  EXPECT_TRUE(allocator.allocate(1, 0).new_segment);
}

TEST(CachingAllocator, AboveOneMebibyteSharesTwenty) {
  CachingAllocator allocator;
  const Placed placed = allocator.allocate(kMiB + 1, 0);
  EXPECT_EQ(placed.bytes, kMiB + 512);
  EXPECT_EQ(placed.segment_bytes, 20 * kMiB);
  const Placed second = allocator.allocate(9 * kMiB, 0);
  EXPECT_EQ(second.segment, placed.segment);
  EXPECT_EQ(second.offset, kMiB + 512);
}

TEST(CachingAllocator, DoesNotSplitOffALargeRemainderOfUpToOneMebibyte) {
  CachingAllocator allocator;
  allocator.free(allocator.allocate(2 * kMiB, 0).id);  // leaves a whole segment of 20 MiB
  const Placed placed = allocator.allocate(19 * kMiB + 512 * kKiB, 0);
  EXPECT_FALSE(placed.new_segment);
  EXPECT_EQ(placed.bytes, 20 * kMiB);
  allocator.free(placed.id);
  const Placed exact = allocator.allocate(19 * kMiB, 0);  // 1 MiB left
  EXPECT_EQ(exact.bytes, 20 * kMiB);
  allocator.free(exact.id);
  EXPECT_EQ(allocator.allocate(19 * kMiB - 512, 0).bytes, 19 * kMiB - 512);  // one quantum more is left
}

TEST(CachingAllocator, FromTenMebibytesOnSegmentsAreOfTheirOwnSize) {
  EXPECT_EQ(CachingAllocator().allocate(10 * kMiB - 512, 0).segment_bytes, 20 * kMiB);
  CachingAllocator allocator;
  const Placed ten = allocator.allocate(10 * kMiB, 0);
  EXPECT_TRUE(ten.new_segment);
  EXPECT_EQ(ten.segment_bytes, 10 * kMiB);
  const Placed eleven = allocator.allocate(11 * kMiB, 0);
  EXPECT_EQ(eleven.segment_bytes, 12 * kMiB);
  EXPECT_EQ(eleven.bytes, 12 * kMiB);  // the remaining 1 MiB is not worth a block
}

TEST(CachingAllocator, FreeNeighboursJoin) {
  CachingAllocator allocator;
  const Placed a = allocator.allocate(512 * kKiB, 0);
  const Placed b = allocator.allocate(512 * kKiB, 0);
  const Placed c = allocator.allocate(512 * kKiB, 0);
  allocator.free(a.id);
  allocator.free(c.id);  // joins the tail
  EXPECT_EQ(allocator.allocate(kMiB, 0).offset, kMiB);
  allocator.free(b.id);
  const Placed front = allocator.allocate(kMiB, 0);
  EXPECT_EQ(front.segment, a.segment);
  EXPECT_EQ(front.offset, 0u);
  EXPECT_EQ(allocator.segment_count(), 1u);
}

TEST(CachingAllocator, TakesTheSmallestThatFitsAndTheLowestOfEqualOnes) {
  CachingAllocator allocator;
  std::vector<Placed> blocks;
  for (const std::uint64_t kib : {64U, 16U, 32U, 16U, 8U, 16U}) blocks.push_back(allocator.allocate(kib * kKiB, 0));
  for (const std::size_t i : {0U, 3U, 1U, 5U}) allocator.free(blocks[i].id);  // 0 and 1 join to 80 KiB, 5 with the tail
  EXPECT_EQ(allocator.allocate(10 * kKiB, 0).offset, 112 * kKiB);             // blocks[3], the smallest
  EXPECT_EQ(allocator.allocate(10 * kKiB, 0).offset, 0u);
  EXPECT_EQ(allocator.allocate(6 * kKiB, 0).offset, 122 * kKiB);  // the rest of blocks[3]
}

TEST(CachingAllocator, StreamsAndPoolsDoNotShare) {
  CachingAllocator allocator;
  const Placed first = allocator.allocate(1000, 0);
  allocator.free(first.id);
  EXPECT_TRUE(allocator.allocate(1000, 1).new_segment);
  EXPECT_FALSE(allocator.allocate(1000, 0).new_segment);
  allocator.free(allocator.allocate(2 * kMiB, 0).id);
  EXPECT_EQ(allocator.allocate(kMiB, 0).segment_bytes, 2 * kMiB);  // not from the free 20 MiB
}

TEST(CachingAllocator, TheAddressOfASegmentDecidesBetweenEqualBlocks) {
  for (const bool downwards : {false, true}) {
    CachingAllocator allocator;
    const Placed a = allocator.allocate(30 * kMiB, 0, downwards ? 0x20000000 : 0x10000000);
    const Placed b = allocator.allocate(30 * kMiB, 0, downwards ? 0x10000000 : 0x20000000);
    allocator.free(a.id);
    allocator.free(b.id);
    EXPECT_EQ(allocator.allocate(30 * kMiB, 0).segment, downwards ? b.segment : a.segment);
  }
}

TEST(CachingAllocator, ARepeatedIterationOpensNoFurtherSegments) {
  CachingAllocator allocator;
  std::mt19937 random(3);
  std::vector<std::uint64_t> sizes(200);
  for (std::uint64_t& size : sizes) size = 1 + random() % (40 * kMiB);
  std::vector<std::uint64_t> offsets[3];
  std::uint64_t segments = 0;
  for (int iteration = 0; iteration < 3; ++iteration) {
    if (iteration == 2) segments = allocator.segment_count();
    std::vector<std::uint64_t> ids;
    for (const std::uint64_t size : sizes) {
      const Placed placed = allocator.allocate(size, 0);
      offsets[iteration].push_back(placed.offset);
      ids.push_back(placed.id);
      if (ids.size() > 20) {
        allocator.free(ids.front());
        ids.erase(ids.begin());
      }
    }
    for (const std::uint64_t id : ids) allocator.free(id);
  }
  EXPECT_EQ(allocator.segment_count(), segments);
  EXPECT_EQ(offsets[1], offsets[2]);
  EXPECT_EQ(allocator.allocated_bytes(), 0u);
}

// Random requests: blocks never overlap, lie in their segment, and what is free is found again.
TEST(CachingAllocator, RandomHistories) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CachingAllocator allocator;
    std::mt19937 random(seed);
    struct Live {
      std::uint64_t id, segment, begin, end;
      std::uint32_t stream;
    };
    std::vector<Live> live;
    std::map<std::uint64_t, std::uint64_t> stream_of_segment;
    std::uint64_t in_use = 0;
    for (int step = 0; step < 2000; ++step) {
      if (!live.empty() && random() % 5 < 2) {
        const std::size_t i = random() % live.size();
        in_use -= live[i].end - live[i].begin;
        allocator.free(live[i].id);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
      const std::uint64_t limit = std::uint64_t{1} << (random() % 26);
      const std::uint64_t bytes = 1 + random() % limit;
      const auto stream = static_cast<std::uint32_t>(random() % 2);
      const Placed placed = allocator.allocate(bytes, stream);
      ASSERT_EQ(placed.offset % 512, 0u);
      ASSERT_GE(placed.bytes, bytes);
      ASSERT_LE(placed.bytes - bytes, bytes <= kMiB ? 511 : kMiB + 511);
      ASSERT_LE(placed.offset + placed.bytes, placed.segment_bytes);
      const auto [owner, inserted] = stream_of_segment.emplace(placed.segment, stream);
      ASSERT_EQ(inserted, placed.new_segment);
      ASSERT_EQ(owner->second, stream);
      for (const Live& other : live) {
        ASSERT_FALSE(other.segment == placed.segment && placed.offset < other.end &&
                     other.begin < placed.offset + placed.bytes)
            << "seed " << seed << " step " << step;
      }
      live.push_back({placed.id, placed.segment, placed.offset, placed.offset + placed.bytes, stream});
      in_use += placed.bytes;
      ASSERT_EQ(allocator.allocated_bytes(), in_use);
      ASSERT_LE(in_use, allocator.reserved_bytes());
    }
    for (const Live& block : live) allocator.free(block.id);
    // Everything has joined again: the small segments hold two mebibytes each, without opening another.
    const std::uint64_t segments = allocator.segment_count();
    std::uint64_t small = 0;
    while (!allocator.allocate(kMiB, 0).new_segment) ++small;
    EXPECT_EQ(small % 2, 0u) << "seed " << seed;
    EXPECT_EQ(allocator.segment_count(), segments + 1);
  }
}

}  // namespace
}  // namespace uvmsim::layout::caching_allocator_test
