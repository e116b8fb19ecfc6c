// SPDX-License-Identifier: Apache-2.0
// Tests of memory that is evicted in units of 64 KB, and of memory that is evicted ahead of need.
#include <gtest/gtest.h>

#include "tests/driver/driver_harness.h"

namespace uvmsim::driver {
namespace {

const policy::GivenParameters kSmall = {{"granularity", "64k"}};

// A GPU of one root chunk that holds unit 0 of 32 blocks, in this order.
struct FullOfUnits {
  explicit FullOfUnits(const std::string& evictor) : machine(1, tiny_system(), evictor, kSmall) {
    for (int i = 0; i < 32; ++i) {
      blocks.push_back(machine.allocate());
      machine.gpu_read(blocks.back(), pages({0}));
    }
    machine.events.clear();
  }
  Machine machine;
  std::vector<BlockIndex> blocks;
};

TEST(SmallChunks, BlocksShareARootChunk) {
  FullOfUnits gpu("fifo");
  EXPECT_EQ(gpu.machine.counters.evictions, 0u);
  EXPECT_EQ(gpu.machine.gpus[0].resident_pages, 32u * kPagesPerBigPage);
  EXPECT_EQ(gpu.machine.gpus[0].memory.free_slots(), 0u);
  EXPECT_FALSE(gpu.machine.has_chunk(gpu.blocks[0]));
  gpu.machine.check();
}

TEST(SmallChunks, OneUnitGoesForOneUnit) {
  FullOfUnits gpu("fifo");
  const BlockIndex next = gpu.machine.allocate();
  gpu.machine.gpu_read(next, pages({0}));
  ASSERT_EQ(gpu.machine.events.evictions.size(), 1u);
  EXPECT_EQ(gpu.machine.events.evictions[0].address, virtual_address(gpu.blocks[0], 0));
  EXPECT_EQ(gpu.machine.events.evictions[0].copied_bytes, kBigPageBytes);
  EXPECT_TRUE(gpu.machine.on_gpu(gpu.blocks[0]).resident.empty());
  EXPECT_EQ(gpu.machine.on_host(gpu.blocks[0]).resident, page_range(0, 16));
  EXPECT_EQ(gpu.machine.on_gpu(gpu.blocks[1]).resident, page_range(0, 16));
  gpu.machine.check();
}

TEST(SmallChunks, AUnitThatTheCpuEmptiedGoesFirstAndCostsNoCopy) {
  FullOfUnits gpu("fifo");
  for (unsigned page = 0; page < 16; ++page) gpu.machine.cpu_read(gpu.blocks[7], page);
  gpu.machine.events.clear();
  gpu.machine.gpu_read(gpu.machine.allocate(), pages({0}));
  ASSERT_EQ(gpu.machine.events.evictions.size(), 1u);
  EXPECT_EQ(gpu.machine.events.evictions[0].address, virtual_address(gpu.blocks[7], 0));
  EXPECT_EQ(gpu.machine.events.evictions[0].copied_bytes, 0u);
  EXPECT_EQ(gpu.machine.counters.evictions_without_copy, 1u);
}

TEST(SmallChunks, ADiscardedUnitGoesFirst) {
  FullOfUnits gpu("fifo");
  gpu.machine.discard(gpu.blocks[9], page_range(0, 16));
  gpu.machine.gpu_read(gpu.machine.allocate(), pages({0}));
  ASSERT_EQ(gpu.machine.events.evictions.size(), 1u);
  EXPECT_EQ(gpu.machine.events.evictions[0].address, virtual_address(gpu.blocks[9], 0));
}

TEST(SmallChunks, NeighboursThatGoTogetherAreCopiedInOnePiece) {
  Machine machine(1, tiny_system(), "fifo", kSmall);
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.gpu_fill(a);
  ASSERT_EQ(machine.on_gpu(a).resident, PageMask::all());
  machine.prefetch({b}, gpu_processor(0));  // the whole block at once
  EXPECT_EQ(machine.on_gpu(b).resident, PageMask::all());
  EXPECT_TRUE(machine.on_gpu(a).resident.empty());
  EXPECT_EQ(machine.counters.evictions, 32u);
  ASSERT_EQ(machine.events.transfers.size(), 1u);  // b is populated
  EXPECT_EQ(machine.events.transfers[0].cause, TransferCause::kEvict);
  EXPECT_EQ(machine.events.transfers[0].bytes, kBlockBytes);
  machine.check();
}

// The memory of the block that an operation works on is not evicted when the operation needs more memory.
TEST(SmallChunks, AnOperationDoesNotEvictWhatItBrings) {
  Machine machine(1, tiny_system(), "mru", kSmall);
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.gpu_fill(a);
  for (const unsigned page : {0u, 16u, 32u, 64u, 128u, 256u}) machine.gpu_access(b, pages({page}));
  machine.prefetch({b}, gpu_processor(0));
  EXPECT_EQ(machine.on_gpu(b).resident, PageMask::all());
  machine.check();
}

TEST(SmallChunks, FreedMemoryIsFree) {
  FullOfUnits gpu("fifo");
  for (const BlockIndex block : gpu.blocks) gpu.machine.residency.departures().release(block);
  EXPECT_EQ(gpu.machine.gpus[0].memory.free_chunks(), 1u);
  EXPECT_EQ(gpu.machine.gpus[0].memory.free_slots(), 32u);
  const BlockIndex next = gpu.machine.allocate();
  gpu.machine.gpu_fill(next);
  EXPECT_EQ(gpu.machine.counters.evictions, 0u);
  EXPECT_EQ(gpu.machine.on_gpu(next).resident, PageMask::all());
}

// The tree prefetcher fetches 2 MB in pieces of 1, 1, 2, 4, 8, 16 units; the tree evicts a block in the same pieces.
TEST(SmallChunks, TheTreeGivesUpMoreThanIsNeeded) {
  Machine machine(1, tiny_system(), "tree_pre_eviction");
  const BlockIndex a = machine.allocate();
  machine.gpu_fill(a);
  std::vector<std::uint64_t> left;
  for (int i = 0; i < 6; ++i) {
    machine.events.clear();
    machine.gpu_read(machine.allocate(), pages({0}));
    left.push_back(machine.on_gpu(a).resident.count() / kPagesPerBigPage);
    // Units take free memory one by one until it runs out.
    while (machine.gpus[0].memory.free_slots() > 0) machine.gpu_read(machine.allocate(), pages({0}));
  }
  EXPECT_EQ(left, (std::vector<std::uint64_t>{31, 30, 28, 24, 16, 0}));
  machine.check();
}

TEST(EarlyEviction, KeepsABufferFree) {
  Machine machine(4, tiny_system(), "free_page_buffer", {{"buffer", "25"}});
  std::vector<BlockIndex> blocks;
  for (int i = 0; i < 6; ++i) {
    blocks.push_back(machine.allocate());
    machine.gpu_fill(blocks.back());
    EXPECT_EQ(machine.gpus[0].memory.free_chunks(), i < 3 ? 3u - static_cast<unsigned>(i) : 1u);
  }
  ASSERT_EQ(machine.events.evictions.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(machine.events.evictions[i].address, virtual_address(blocks[i], 0));
  machine.check();
}

// The block that was just served stays, even if the buffer then has to be smaller.
TEST(EarlyEviction, SparesWhatWasJustBrought) {
  Machine machine(1, tiny_system(), "free_page_buffer", {{"granularity", "64k"}, {"buffer", "50"}});
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.prefetch({a}, gpu_processor(0));
  EXPECT_EQ(machine.on_gpu(a).resident, PageMask::all());
  machine.gpu_read(b, pages({0}));
  EXPECT_EQ(machine.on_gpu(b).resident, page_range(0, 16));
  EXPECT_EQ(machine.gpus[0].memory.free_slots(), 16u);
  machine.check();
}

// The fault that fills memory does not wait for the early copy; without a buffer the next fault waits for its victim's
// copy.
TEST(EarlyEviction, NobodyWaitsForTheCopy) {
  const auto time_of_third_fault = [](const char* evictor, const policy::GivenParameters& parameters) {
    Machine machine(2, tiny_system(), evictor, parameters);
    const BlockIndex a = machine.allocate(), b = machine.allocate(), c = machine.allocate();
    machine.gpu_fill(a);
    machine.gpu_fill(b);
    machine.wait(microseconds(10000));
    const Nanoseconds before = machine.now;
    machine.gpu_read(c, pages({0}));
    return machine.now - before;
  };
  const Nanoseconds copy(kBlockBytes * 1000 / 50000);  // at the link's bandwidth
  const Nanoseconds without = time_of_third_fault("lrm", {});
  EXPECT_EQ(time_of_third_fault("free_page_buffer", {{"buffer", "0"}}), without);
  // The driver's thread does the same work, but does not wait for the copy.
  EXPECT_GE(without - time_of_third_fault("free_page_buffer", {{"buffer", "50"}}), copy);
}

}  // namespace
}  // namespace uvmsim::driver
