// SPDX-License-Identifier: Apache-2.0
// The caching allocator with settings other than PyTorch's default: cases computed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "sim/layout/caching_allocator.h"
#include "tests/policy/message_of.h"

namespace uvmsim::layout::caching_settings_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Placed = CachingAllocator::Placed;
using Range = TensorAllocator::Range;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// --- rounding ---

TEST(Rounding, IsTo512BytesUnlessPowersOfTwoAreDivided) {
  AllocatorSettings settings;
  EXPECT_EQ(rounded_request(1, settings), 512u);
  EXPECT_EQ(rounded_request(512, settings), 512u);
  EXPECT_EQ(rounded_request(513, settings), 1024u);
  settings.roundup_power2_divisions = 4;
  EXPECT_EQ(rounded_request(1200, settings), 1536u);               // up to 4 x 512 bytes there is no change
  EXPECT_EQ(rounded_request(2048, settings), 2048u);               // a power of two stays
  EXPECT_EQ(rounded_request(2049, settings), 2560u);               // 2048, 2560, 3072, 3584, 4096
  EXPECT_EQ(rounded_request(1200 * kMiB, settings), 1280 * kMiB);  // 1024, 1280, ...
  EXPECT_EQ(rounded_request(1793 * kMiB, settings), 2048 * kMiB);
}

TEST(Rounding, ReusesBlocksOfTheSameStep) {
  AllocatorSettings settings;
  settings.roundup_power2_divisions = 2;
  CachingAllocator allocator(settings);
  const Placed first = allocator.allocate(33 * kMiB, 0);  // steps at 32, 48, 64
  EXPECT_EQ(first.bytes, 48 * kMiB);
  allocator.free(first.id);
  EXPECT_FALSE(allocator.allocate(47 * kMiB, 0).new_segment);
}

// --- max_split_size ---

AllocatorSettings split_at(std::uint64_t bytes) {
  AllocatorSettings settings;
  settings.max_split_size_bytes = bytes;
  return settings;
}

TEST(MaxSplitSize, OversizeBlocksAreNeitherSplitNorGivenToSmallerRequests) {
  CachingAllocator allocator(split_at(64 * kMiB));
  const Placed oversize = allocator.allocate(100 * kMiB, 0);
  allocator.free(oversize.id);
  EXPECT_TRUE(allocator.allocate(30 * kMiB, 0).new_segment);  // 100 MiB would be enough, but is not split
  const Placed same = allocator.allocate(90 * kMiB, 0);
  EXPECT_FALSE(same.new_segment);
  EXPECT_EQ(same.bytes, 100 * kMiB);  // not split, although 10 MiB remain
}

TEST(MaxSplitSize, AnOversizeBlockMayBeLargerByLessThanTheRounding) {
  for (const std::uint64_t request : {80 * kMiB, 80 * kMiB + 512}) {
    CachingAllocator allocator(split_at(64 * kMiB));
    allocator.free(allocator.allocate(100 * kMiB, 0).id);
    EXPECT_EQ(allocator.allocate(request, 0).new_segment, request == 80 * kMiB)
        << request;  // 20 MiB and more are too much
  }
  AllocatorSettings settings = split_at(64 * kMiB);
  settings.max_non_split_rounding_bytes = 50 * kMiB;
  CachingAllocator allocator(settings);
  allocator.free(allocator.allocate(100 * kMiB, 0).id);
  EXPECT_FALSE(allocator.allocate(70 * kMiB, 0).new_segment);
}

TEST(MaxSplitSize, BelowItBlocksAreSplitAsEver) {
  CachingAllocator allocator(split_at(64 * kMiB));
  allocator.free(allocator.allocate(60 * kMiB, 0).id);
  EXPECT_EQ(allocator.allocate(40 * kMiB, 0).bytes, 40 * kMiB);
  EXPECT_EQ(allocator.allocate(20 * kMiB, 0).offset, 40 * kMiB);
}

// --- memory limit ---

AllocatorSettings limited_to(std::uint64_t bytes) {
  AllocatorSettings settings;
  settings.memory_limit_bytes = bytes;
  return settings;
}

TEST(MemoryLimit, ThereIsNoneByDefault) {
  CachingAllocator allocator;
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 40; ++i) ids.push_back(allocator.allocate(std::uint64_t{40} << 30, 0).id);  // 1.6 TB
  for (const std::uint64_t id : ids) allocator.free(id);
  allocator.allocate(std::uint64_t{50} << 30, 0);
  EXPECT_THAT(allocator.released(), IsEmpty());
}

TEST(MemoryLimit, GivesBackAllFreeSegmentsWhenItIsReached) {
  CachingAllocator allocator(limited_to(100 * kMiB));
  const Placed small = allocator.allocate(1000, 0);        // segment 0, 2 MiB
  const Placed used = allocator.allocate(30 * kMiB, 0);    // 1
  const Placed unused = allocator.allocate(40 * kMiB, 0);  // 2
  const Placed other = allocator.allocate(20 * kMiB, 1);   // 3, of another stream
  allocator.free(unused.id);
  allocator.free(other.id);
  allocator.free(small.id);
  const Placed large = allocator.allocate(60 * kMiB, 0);  // 92 + 60 MiB > 100 MiB
  EXPECT_TRUE(large.new_segment);
  EXPECT_THAT(allocator.released(), ElementsAre(Range{2, 0, 40 * kMiB}, Range{3, 0, 20 * kMiB}, Range{0, 0, 2 * kMiB}));
  EXPECT_EQ(allocator.reserved_bytes(), 90 * kMiB);
  allocator.free(used.id);
  EXPECT_FALSE(allocator.allocate(30 * kMiB, 0).new_segment);
  EXPECT_THAT(allocator.released(), IsEmpty());  // of the last call
}

TEST(MemoryLimit, SplitSegmentsStay) {
  CachingAllocator allocator(limited_to(60 * kMiB));
  const Placed a = allocator.allocate(10 * kMiB, 0);
  const Placed b = allocator.allocate(5 * kMiB, 0);  // of 20 MiB
  const Placed c = allocator.allocate(5 * kMiB, 0);
  allocator.free(b.id);
  allocator.free(a.id);
  EXPECT_TRUE(allocator.allocate(15 * kMiB, 1).new_segment);
  EXPECT_THAT(allocator.released(), IsEmpty());
  allocator.allocate(15 * kMiB, 1);                                        // 10 + 20 + 16 + 16 MiB > 60 MiB
  EXPECT_THAT(allocator.released(), ElementsAre(Range{0, 0, 10 * kMiB}));  // not the 20 MiB that c is in
  allocator.free(c.id);
}

TEST(MemoryLimit, BeyondItAreNoSegments) {
  CachingAllocator allocator(limited_to(50 * kMiB));
  allocator.allocate(30 * kMiB, 0);
  EXPECT_THAT(message_of([&] { allocator.allocate(25 * kMiB, 0); }),
              AllOf(HasSubstr("out of memory"), HasSubstr("26214400 bytes"), HasSubstr("segment of 27262976"),
                    HasSubstr("31457280 of 52428800 are taken")));
}

TEST(MemoryLimit, OversizeBlocksGoFirst) {
  AllocatorSettings settings = limited_to(300 * kMiB);
  settings.max_split_size_bytes = 40 * kMiB;
  CachingAllocator allocator(settings);
  std::vector<Placed> blocks;
  for (const std::uint64_t mib : {30U, 50U, 60U, 100U}) blocks.push_back(allocator.allocate(mib * kMiB, 0));
  for (const Placed& block : blocks) allocator.free(block.id);
  // 240 + 80 MiB is too much. One oversize block that is large enough makes room: the smallest of these.
  EXPECT_TRUE(allocator.allocate(80 * kMiB, 0).new_segment);
  EXPECT_THAT(allocator.released(), ElementsAre(Range{3, 0, 100 * kMiB}));
  // 220 + 106 MiB is too much. No block is that large, but the largest ones together are: 60 + 50 MiB. The 30 MiB are
  // not oversize.
  EXPECT_TRUE(allocator.allocate(106 * kMiB, 0).new_segment);
  EXPECT_THAT(allocator.released(), ElementsAre(Range{2, 0, 60 * kMiB}, Range{1, 0, 50 * kMiB}));
}

// --- garbage collection ---

TEST(GarbageCollection, NeedsALimit) {
  AllocatorSettings settings;
  settings.garbage_collection_threshold = 0.1;
  CachingAllocator allocator(settings);
  for (int i = 0; i < 10; ++i) {
    allocator.free(allocator.allocate((30 + 2 * static_cast<std::uint64_t>(i)) * kMiB, 0).id);
  }
  EXPECT_EQ(allocator.segment_count(), 10u);
  EXPECT_EQ(allocator.reserved_bytes(), (300 + 90) * kMiB);
}

TEST(GarbageCollection, GivesBackWhatWasFreeForAtLeastTheMeanAge) {
  AllocatorSettings settings = limited_to(1000 * kMiB);
  settings.garbage_collection_threshold = 0.2;  // 200 MiB
  CachingAllocator allocator(settings);
  std::vector<Placed> blocks;
  for (const std::uint64_t mib : {40U, 50U, 60U}) {
    blocks.push_back(allocator.allocate(mib * kMiB, 0));  // searches 1 to 3
  }
  allocator.free(blocks[0].id);                         // free since search 3
  const Placed big = allocator.allocate(80 * kMiB, 0);  // 4; 150 MiB are not more than 200
  EXPECT_THAT(allocator.released(), IsEmpty());
  allocator.free(blocks[1].id);  // since 4
  // Search 5: 230 MiB are reserved, 30 too many. Ages are 5 - 3 = 2 and 5 - 4 = 1, mean 1.5: the 40 MiB are returned,
  // which is enough.
  const Placed next = allocator.allocate(70 * kMiB, 0);
  EXPECT_THAT(allocator.released(), ElementsAre(Range{0, 0, 40 * kMiB}));
  allocator.free(next.id);  // since 5
  // Search 6: 260 MiB are reserved, 60 too many. Ages: 50 MiB 6 - 4 = 2, 70 MiB 6 - 5 = 1. The first round returns the
  // 50 MiB. As 10 MiB are still too many, a second round returns the 70 MiB, whose age is the new mean.
  allocator.allocate(90 * kMiB, 0);
  EXPECT_THAT(allocator.released(), ElementsAre(Range{1, 0, 50 * kMiB}, Range{4, 0, 70 * kMiB}));
  allocator.free(big.id);
}

TEST(GarbageCollection, LeavesSmallAndSplitSegments) {
  AllocatorSettings settings = limited_to(100 * kMiB);
  settings.garbage_collection_threshold = 0.01;
  CachingAllocator allocator(settings);
  allocator.free(allocator.allocate(100, 0).id);
  const Placed a = allocator.allocate(2 * kMiB, 0);
  allocator.free(allocator.allocate(2 * kMiB, 0).id);
  allocator.allocate(30 * kMiB, 0);
  EXPECT_THAT(allocator.released(), IsEmpty());
  allocator.free(a.id);  // now the 20 MiB are one block
  allocator.allocate(31 * kMiB, 0);
  EXPECT_THAT(allocator.released(), ElementsAre(Range{1, 0, 20 * kMiB}));
}

// --- empty_cache, and blocks that wait ---

TEST(EmptyCache, GivesBackWholeSegmentsOnly) {
  CachingAllocator allocator;
  const Placed a = allocator.allocate(3 * kMiB, 0);
  const Placed b = allocator.allocate(3 * kMiB, 0);
  allocator.free(allocator.allocate(30 * kMiB, 0).id);
  allocator.free(b.id);
  allocator.empty_cache();
  EXPECT_THAT(allocator.released(), ElementsAre(Range{1, 0, 30 * kMiB}));
  allocator.empty_cache();
  EXPECT_THAT(allocator.released(), IsEmpty());
  allocator.free(a.id);
  allocator.empty_cache();
  EXPECT_EQ(allocator.reserved_bytes(), 0u);
  const Placed again = allocator.allocate(3 * kMiB, 0);
  EXPECT_TRUE(again.new_segment);
  EXPECT_EQ(again.segment, 2u);  // numbers are never reused
}

TEST(WaitingBlocks, AreInUseUntilTheyAreFinished) {
  CachingAllocator allocator;
  const Placed placed = allocator.allocate(30 * kMiB, 0);
  allocator.free_later(placed.id);
  EXPECT_TRUE(allocator.allocate(30 * kMiB, 0).new_segment);
  EXPECT_EQ(allocator.allocated_bytes(), 60 * kMiB);
  allocator.finish(placed.id);
  EXPECT_FALSE(allocator.allocate(30 * kMiB, 0).new_segment);
}

TEST(WaitingBlocks, ALimitWaitsForThem) {
  CachingAllocator allocator(limited_to(50 * kMiB));
  const Placed placed = allocator.allocate(30 * kMiB, 0);
  allocator.free_later(placed.id);
  allocator.allocate(40 * kMiB, 0);
  EXPECT_THAT(allocator.released(), ElementsAre(Range{0, 0, 30 * kMiB}));
  allocator.finish(placed.id);  // has already happened
  EXPECT_EQ(allocator.allocated_bytes(), 40 * kMiB);
}

}  // namespace
}  // namespace uvmsim::layout::caching_settings_test
