// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/gpu_memory.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "sim/common/check.h"

namespace uvmsim {
namespace {

std::map<std::uint64_t, PageMask> owners(const GpuMemory& memory, ChunkId chunk) {
  std::map<std::uint64_t, PageMask> out;
  memory.for_each_owner(chunk, [&](BlockIndex block, const PageMask& pages) {
    EXPECT_TRUE(out.emplace(block.value, pages).second) << "block " << block.value << " came twice";
  });
  return out;
}

TEST(GpuMemory, HandsOutEveryChunkOnceThenNone) {
  GpuMemory memory(3);
  EXPECT_EQ(memory.free_chunks(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const ChunkId chunk = memory.allocate();
    EXPECT_EQ(chunk.value, i);  // lowest first
    EXPECT_EQ(memory.chunk(chunk).state, ChunkState::kPinned);
  }
  EXPECT_EQ(memory.free_chunks(), 0u);
  EXPECT_FALSE(memory.allocate().valid());
  memory.release(ChunkId{1});
  EXPECT_EQ(memory.allocate().value, 1u);
}

// A chunk that is to be reused last is allocated after all fresh chunks, which have no state. Of several such chunks
// the first one released is allocated first.
TEST(GpuMemory, FreshChunksCostNothingAndComeBeforeThoseReusedLast) {
  constexpr std::uint32_t kChunks = 0xfffffffe;
  GpuMemory memory(kChunks);
  EXPECT_EQ(memory.known_chunks(), 0u);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(memory.allocate().value, i);
  EXPECT_EQ(memory.free_chunks(), kChunks - 3);
  memory.release(ChunkId{1}, GpuMemory::Reuse::kLast);
  EXPECT_EQ(memory.allocate().value, 3u);
  memory.release(ChunkId{0});
  EXPECT_EQ(memory.allocate().value, 0u);
  EXPECT_EQ(memory.known_chunks(), 4u);

  GpuMemory small(4);
  for (std::uint32_t i = 0; i < 3; ++i) small.allocate();
  small.release(ChunkId{2}, GpuMemory::Reuse::kLast);
  small.release(ChunkId{1}, GpuMemory::Reuse::kLast);
  small.release(ChunkId{0});
  std::vector<std::uint32_t> order;
  for (ChunkId chunk = small.allocate(); chunk.valid(); chunk = small.allocate()) order.push_back(chunk.value);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 3, 2, 1}));
}

TEST(GpuMemory, AWholeChunkBelongsToOneBlock) {
  GpuMemory memory(2);
  const BlockIndex block(1000);
  EXPECT_FALSE(memory.whole(block).valid());
  const ChunkId chunk = memory.allocate();
  memory.bind_whole(block, chunk);
  EXPECT_EQ(memory.whole(block), chunk);
  EXPECT_FALSE(memory.whole(BlockIndex(999)).valid());
  const std::map<std::uint64_t, PageMask> expected{{1000, PageMask::all()}};
  EXPECT_EQ(owners(memory, chunk), expected);
  memory.unbind_whole(block);
  EXPECT_FALSE(memory.whole(block).valid());
  EXPECT_TRUE(owners(memory, chunk).empty());
  memory.release(chunk);
  EXPECT_EQ(memory.free_chunks(), 2u);
}

TEST(GpuMemory, ASplitChunkServesThirtyTwoUnitsOfSeveralBlocks) {
  GpuMemory memory(1);
  EXPECT_FALSE(memory.find_free_slot().valid());
  const ChunkId chunk = memory.allocate();
  memory.split(chunk);
  for (unsigned i = 0; i < kBigPagesPerBlock; ++i) {
    const SlotId slot = memory.find_free_slot();
    ASSERT_TRUE(slot.valid());
    memory.bind_slot(BlockIndex(i % 2 == 0 ? 5 : 9), i / 2, slot);
    EXPECT_EQ(memory.slot(BlockIndex(i % 2 == 0 ? 5 : 9), i / 2).chunk, chunk.value);
  }
  EXPECT_FALSE(memory.find_free_slot().valid());
  const std::map<std::uint64_t, PageMask> halves{{5, PageMask::range(0, 256)}, {9, PageMask::range(0, 256)}};
  EXPECT_EQ(owners(memory, chunk), halves);

  // Allocation reuses the slot that was freed.
  const SlotId third = memory.slot(BlockIndex(5), 3);
  EXPECT_FALSE(memory.unbind_slot(BlockIndex(5), 3).valid());
  EXPECT_FALSE(memory.slot(BlockIndex(5), 3).valid());
  EXPECT_EQ(memory.find_free_slot().slot, third.slot);

  // When the last slot is freed, the chunk is free too.
  ChunkId emptied;
  for (unsigned unit = 0; unit < 16; ++unit) {
    if (unit != 3) {
      EXPECT_FALSE(memory.unbind_slot(BlockIndex(5), unit).valid());
    }
  }
  for (unsigned unit = 0; unit < 16; ++unit) {
    EXPECT_FALSE(emptied.valid());
    emptied = memory.unbind_slot(BlockIndex(9), unit);
  }
  EXPECT_EQ(emptied, chunk);
  memory.release(emptied);
  EXPECT_EQ(memory.free_chunks(), 1u);
  EXPECT_FALSE(memory.find_free_slot().valid());
  EXPECT_FALSE(memory.chunk(chunk).split);
}

TEST(GpuMemory, FreeSlotsOfTheChunkSplitFirstComeFirst) {
  GpuMemory memory(2);
  const ChunkId first = memory.allocate();
  memory.split(first);
  const ChunkId second = memory.allocate();
  memory.split(second);
  EXPECT_EQ(memory.find_free_slot().chunk, first.value);
  for (unsigned i = 0; i < kBigPagesPerBlock; ++i) memory.bind_slot(BlockIndex(0), i, memory.find_free_slot());
  EXPECT_EQ(memory.find_free_slot().chunk, second.value);
}

TEST(GpuMemory, AnEmptiedSplitChunkCanBecomeWhole) {
  GpuMemory memory(1);
  const ChunkId chunk = memory.allocate();
  memory.split(chunk);
  memory.bind_slot(BlockIndex(2), 0, memory.find_free_slot());
  EXPECT_EQ(memory.unbind_slot(BlockIndex(2), 0), chunk);
  memory.unsplit(chunk);
  memory.bind_whole(BlockIndex(3), chunk);
  EXPECT_EQ(memory.whole(BlockIndex(3)), chunk);
  EXPECT_FALSE(memory.find_free_slot().valid());
}

TEST(GpuMemory, MistakesAreModelErrors) {
  if (!kModelChecks) GTEST_SKIP() << "built without model checks";
  GpuMemory memory(2);
  EXPECT_THROW(memory.release(ChunkId{0}), ModelError);  // free already
  const ChunkId chunk = memory.allocate();
  memory.bind_whole(BlockIndex(0), chunk);
  EXPECT_THROW(memory.release(chunk), ModelError);  // in use
  EXPECT_THROW(memory.bind_whole(BlockIndex(0), memory.allocate()), ModelError);
}

}  // namespace
}  // namespace uvmsim
