// SPDX-License-Identifier: Apache-2.0
// Tests of blocks below 2 MB, which share root chunks that are split into 64 KB slots.
#include <gtest/gtest.h>

#include "tests/driver/driver_harness.h"

namespace uvmsim::driver {
namespace {

constexpr std::uint64_t kKiB = 1024;

TEST(ShortBlock, TheTreeStopsAtItsEnd) {
  Machine machine(1);
  const BlockIndex a = machine.allocate(96 * kKiB);
  machine.gpu_write(a, pages({0}));
  EXPECT_EQ(machine.on_gpu(a).resident, page_range(0, 24));
  machine.check();
}

TEST(ShortBlock, WithoutABigPageItComesAsAWhole) {
  Machine machine(1);
  const BlockIndex a = machine.allocate(40 * kKiB);
  machine.gpu_write(a, pages({3}));
  EXPECT_EQ(machine.on_gpu(a).resident, page_range(0, 10));
  machine.check();
}

TEST(ShortBlock, ManyShareARootChunk) {
  Machine machine(2);
  for (int i = 0; i < 32; ++i) machine.gpu_write(machine.allocate(64 * kKiB), pages({0}));
  EXPECT_EQ(machine.gpus[0].memory.free_chunks(), 1u);
  machine.gpu_write(machine.allocate(64 * kKiB), pages({0}));
  EXPECT_EQ(machine.gpus[0].memory.free_chunks(), 0u);
  machine.check();
}

TEST(ShortBlock, AnEvictedChunkTakesAllItsBlocksWithIt) {
  Machine machine(1);
  std::vector<BlockIndex> small;
  for (int i = 0; i < 4; ++i) {
    small.push_back(machine.allocate(64 * kKiB));
    machine.gpu_write(small.back(), pages({0}));
  }
  machine.gpu_write(machine.allocate(), pages({0}));
  EXPECT_EQ(machine.counters.evictions, 1u);
  EXPECT_EQ(machine.counters.dtoh_evict_bytes, 4u * 64 * kKiB);
  EXPECT_EQ(machine.counters.dtoh_evict_transactions, 4u);
  for (const BlockIndex block : small) EXPECT_EQ(machine.on_host(block).resident, page_range(0, 16));
  machine.check();
}

// The driver does not mark short blocks as used again: their order is that of allocation.
TEST(ShortBlock, AFaultDoesNotRefreshItsChunk) {
  Machine machine(2);
  const BlockIndex small = machine.allocate(1024 * kKiB), a = machine.allocate(), b = machine.allocate();
  machine.gpu_write(small, pages({0}));
  machine.gpu_write(a, pages({0}));
  machine.gpu_write(small, pages({16}));  // uses its chunk, which still has room
  machine.gpu_write(b, pages({0}));
  ASSERT_EQ(machine.events.evictions.size(), 1u);
  EXPECT_EQ(machine.events.evictions[0].address, virtual_address(small, 0));
  machine.check();
}

// The only chunk is full. Room for one unit of a block is made by evicting the other.
TEST(ShortBlock, EvictionMayTakeItsOwnPages) {
  Machine machine(1);
  const BlockIndex a = machine.allocate(1024 * kKiB), b = machine.allocate(1984 * kKiB);
  machine.gpu_write(a, pages({0}));
  machine.prefetch({b}, gpu_processor(0));
  machine.gpu_write(a, pages({16}));
  EXPECT_EQ(machine.on_gpu(a).resident, page_range(16, 32));
  EXPECT_EQ(machine.on_host(a).resident, page_range(0, 16));
  EXPECT_TRUE(machine.on_gpu(b).resident.empty());
  machine.check();
}

// Pages that were evicted for an operation and that the same operation needs return.
TEST(ShortBlock, PagesLostOnTheWayComeBack) {
  Machine machine(1);
  const BlockIndex a = machine.allocate(1024 * kKiB), b = machine.allocate(1984 * kKiB);
  machine.advise(a, trace::Advice::kSetReadMostly);
  machine.cpu_fill(a, page_range(0, 16));
  machine.gpu_read(a, pages({0}));
  machine.prefetch({b}, gpu_processor(0));
  machine.gpu_write(a, pages({0, 16}));
  EXPECT_TRUE(machine.on_gpu(a).writable.test(0));
  EXPECT_TRUE(machine.on_gpu(a).writable.test(16));
  machine.check();
}

TEST(ShortBlock, TheHeadOfARangeMayBeShortToo) {
  Machine machine(2);
  // The range begins 1 MB into its first block.
  const BlockIndex a = machine.allocate(2 * kBlockBytes, kBlockBytes / 2);
  machine.gpu_write(a, pages({256}));
  EXPECT_EQ(machine.on_gpu(a).resident, page_range(256, 272));
  machine.gpu_write(BlockIndex(a.value + 1), pages({0}));
  machine.gpu_write(BlockIndex(a.value + 2), pages({0}));
  EXPECT_EQ(machine.gpus[0].memory.free_chunks(), 0u) << "head and tail share one root chunk";
  machine.check();
}

TEST(ShortBlock, FreeingTheLastOneReturnsTheChunk) {
  Machine machine(1);
  const BlockIndex a = machine.allocate(64 * kKiB), b = machine.allocate(64 * kKiB);
  machine.gpu_write(a, pages({0}));
  machine.gpu_write(b, pages({0}));
  machine.residency.departures().release(a);
  EXPECT_EQ(machine.gpus[0].memory.free_chunks(), 0u);
  machine.residency.departures().release(b);
  EXPECT_EQ(machine.gpus[0].memory.free_chunks(), 1u);
  machine.check();
}

}  // namespace
}  // namespace uvmsim::driver
