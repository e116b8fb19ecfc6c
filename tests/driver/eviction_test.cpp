// SPDX-License-Identifier: Apache-2.0
// Tests of eviction: which root chunk is evicted, which pages are copied, and what a later fault finds. "Vector"
// numbers refer to the list of worked examples for which these tests were computed; sources: NVIDIA UVM 580
// uvm_pmm_gpu.c, uvm_va_block.c.
#include <gtest/gtest.h>

#include "tests/driver/driver_harness.h"

namespace uvmsim::driver {
namespace {

TEST(Eviction, Vector1AFaultRefreshesItsChunk) {
  Machine machine(2);
  const BlockIndex a = machine.allocate(), b = machine.allocate(), c = machine.allocate();
  machine.gpu_read(a, pages({0}));
  machine.gpu_read(b, pages({0}));
  machine.gpu_read(a, pages({256}));
  machine.gpu_read(c, pages({0}));
  ASSERT_EQ(machine.events.evictions.size(), 1u);
  EXPECT_EQ(machine.events.evictions[0].address, virtual_address(b, 0));
  machine.check();
}

TEST(Eviction, Vector2AHitDoesNot) {
  Machine machine(2);
  const BlockIndex a = machine.allocate(), b = machine.allocate(), c = machine.allocate();
  machine.gpu_read(a, pages({0}));
  machine.gpu_read(b, pages({0}));
  EXPECT_EQ(machine.gpu_read(a, pages({0})).faulting_pages, 0u) << "a stale fault is no service";
  machine.gpu_read(c, pages({0}));
  ASSERT_EQ(machine.events.evictions.size(), 1u);
  EXPECT_EQ(machine.events.evictions[0].address, virtual_address(a, 0));
}

TEST(Eviction, Vector3AChunkThatTheCpuEmptiedGoesFirstAndCostsNoCopy) {
  Machine machine(2);
  const BlockIndex a = machine.allocate(), b = machine.allocate(), c = machine.allocate();
  machine.gpu_read(a, pages({0}));
  machine.gpu_read(b, pages({0}));
  for (unsigned page = 0; page < 16; ++page) machine.cpu_read(b, page);
  EXPECT_TRUE(machine.on_gpu(b).resident.empty());
  EXPECT_TRUE(machine.has_chunk(b)) << "the chunk stays with its block";
  machine.events.clear();
  machine.gpu_read(c, pages({0}));
  ASSERT_EQ(machine.events.evictions.size(), 1u);
  EXPECT_EQ(machine.events.evictions[0].address, virtual_address(b, 0));
  EXPECT_EQ(machine.events.evictions[0].copied_bytes, 0u);
  EXPECT_TRUE(machine.events.transfers.empty());
  EXPECT_EQ(machine.counters.evictions_without_copy, 1u);
  machine.check();
}

TEST(Eviction, Vector4ACleanFullBlockIsCopiedInOneTransaction) {
  Machine machine(1);
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.cpu_fill(a);
  machine.gpu_fill(a);
  ASSERT_EQ(machine.on_gpu(a).resident, PageMask::all());
  machine.events.clear();
  machine.gpu_read(b, pages({0}));
  ASSERT_EQ(machine.events.transfers.size(), 1u);
  EXPECT_EQ(machine.events.transfers[0].direction, TransferDirection::kDeviceToHost);
  EXPECT_EQ(machine.events.transfers[0].cause, TransferCause::kEvict);
  EXPECT_EQ(machine.events.transfers[0].bytes, kBlockBytes);
  EXPECT_EQ(machine.on_host(a).resident, PageMask::all());
  EXPECT_TRUE(machine.on_host(a).mapped.empty()) << "evicted pages are not mapped on the CPU";

  machine.events.clear();
  machine.gpu_read(a, pages({0}));  // evicts b's 64 KB
  ASSERT_EQ(machine.events.transfers.size(), 3u);
  EXPECT_EQ(machine.events.transfers[1].cause, TransferCause::kFault);
  EXPECT_EQ(machine.events.transfers[1].bytes, 4096u);
  EXPECT_EQ(machine.events.transfers[2].cause, TransferCause::kPrefetch);
  EXPECT_EQ(machine.events.transfers[2].bytes, 61440u);
  EXPECT_EQ(machine.counters.reloaded_pages, 16u);
  machine.check();
}

TEST(Eviction, Vector5APartlyResidentBlockCopiesWhatItHasAndFreesAWholeChunk) {
  Machine machine(1);
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.gpu_read(a, pages({0}));
  machine.gpu_read(b, pages({0}));
  ASSERT_EQ(machine.events.transfers.size(), 1u);
  EXPECT_EQ(machine.events.transfers[0].bytes, 65536u);
  EXPECT_FALSE(machine.has_chunk(a));
  EXPECT_TRUE(machine.has_chunk(b));
  EXPECT_EQ(machine.gpus[0].memory.free_chunks(), 0u);
  machine.check();
}

TEST(Eviction, Vector6FirstTouchMovesNothing) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  const BatchSummary summary = machine.gpu_write(a, pages({0}));
  EXPECT_EQ(summary.faulting_pages, 1u);
  EXPECT_EQ(machine.on_gpu(a).resident, page_range(0, 16));
  EXPECT_TRUE(machine.events.transfers.empty());
  EXPECT_EQ(machine.counters.populated_pages, 16u);
  EXPECT_EQ(machine.gpus[0].memory.free_chunks(), 0u) << "2 MB are occupied";
  machine.check();
}

TEST(Eviction, Vector11ACyclicScanEvictsEveryBlockInEveryPassAndNeverThrashes) {
  constexpr unsigned kCapacity = 4, kPasses = 3;
  Machine machine(kCapacity);
  std::vector<BlockIndex> blocks;
  for (unsigned i = 0; i < kCapacity + 1; ++i) blocks.push_back(machine.allocate());
  for (unsigned pass = 0; pass < kPasses; ++pass) {
    for (const BlockIndex block : blocks) machine.gpu_fill(block, true);
  }
  EXPECT_EQ(machine.counters.evictions, kPasses * (kCapacity + 1) - kCapacity);
  EXPECT_EQ(machine.counters.dtoh_evict_bytes, machine.counters.evictions * kBlockBytes);
  EXPECT_EQ(machine.counters.thrashing_pages, 0u);
  for (const BlockIndex block : blocks) EXPECT_FALSE(machine.thrashing.tracks(block));
  machine.check();
}

TEST(Eviction, OneChunkOfMemoryIsEnough) {
  Machine machine(1);
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  for (int i = 0; i < 4; ++i) {
    machine.gpu_fill(a, true);
    machine.gpu_fill(b, true);
  }
  EXPECT_EQ(machine.counters.evictions, 7u);
  EXPECT_EQ(machine.on_gpu(b).resident, PageMask::all());
  EXPECT_TRUE(machine.on_gpu(a).resident.empty());
  machine.check();
}

TEST(Eviction, ABatchOfMoreBlocksThanMemoryServesThemOneAfterTheOther) {
  Machine machine(1);
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  std::vector<gmmu::FaultEntry> batch(2);
  batch[0].fault.page = PageIndex(a.value * kPagesPerBlock);
  batch[1].fault.page = PageIndex(b.value * kPagesPerBlock);
  const BatchSummary summary = machine.faults.service(0, batch, machine.now);
  EXPECT_EQ(summary.blocks, 2u);
  EXPECT_TRUE(machine.on_gpu(a).resident.empty()) << "the second block of the batch pushed the first one out";
  EXPECT_EQ(machine.on_gpu(b).resident, page_range(0, 16));
  machine.check();
}

TEST(Eviction, TheCopyInWaitsForTheCopyOut) {
  Machine machine(1);
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.cpu_fill(a);
  machine.cpu_fill(b);
  machine.gpu_fill(a);
  machine.events.clear();
  machine.gpu_read(b, pages({0}));
  ASSERT_EQ(machine.events.transfers.size(), 3u);
  EXPECT_EQ(machine.events.transfers[0].direction, TransferDirection::kDeviceToHost);
  EXPECT_GE(machine.events.transfers[1].start, machine.events.transfers[0].end);
  machine.check();
}

// Two GPUs over PCIe have no peer copies, so pages travel through the host and count in both directions.
TEST(Eviction, AnotherGpusPagesComeThroughTheHost) {
  Machine machine(2, tiny_system(2));
  const BlockIndex a = machine.allocate();
  machine.gpu_write(a, pages({0}), 0);
  machine.gpu_write(a, pages({0}), 1);
  EXPECT_TRUE(machine.on_gpu(a, 0).resident.empty());
  EXPECT_TRUE(machine.on_gpu(a, 0).mapped.empty());
  EXPECT_EQ(machine.on_gpu(a, 1).resident, page_range(0, 16));
  EXPECT_EQ(machine.counters.dtoh_fault_bytes + machine.counters.dtoh_prefetch_bytes, 65536u);
  EXPECT_EQ(machine.counters.htod_fault_bytes + machine.counters.htod_prefetch_bytes, 65536u);
  EXPECT_TRUE(machine.has_chunk(a, 0)) << "emptied, but still the block's";
  machine.check();
}

TEST(Eviction, FreeingReturnsEverything) {
  Machine machine(2);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a, page_range(0, 100));
  machine.gpu_read(a, pages({200}));
  EXPECT_EQ(machine.residency.departures().release(a), 16u);
  machine.space.free(a, 1);
  EXPECT_EQ(machine.gpus[0].memory.free_chunks(), 2u);
  machine.check();
}

// In a batch in which every block needs a victim, the order is unmap, copy out, copy in, map, and only then is the next
// victim unmapped.
TEST(Eviction, CopiesOutAndInTakeTurnsWhereEveryBlockOfABatchEvicts) {
  constexpr unsigned kBlocks = 4;
  config::SystemConfig system = tiny_system();
  system.costs.unmap_gpu_ns = 7000;
  Machine machine(kBlocks, system);
  std::vector<BlockIndex> old, fresh;
  for (unsigned i = 0; i < kBlocks; ++i) old.push_back(machine.allocate());
  for (unsigned i = 0; i < kBlocks; ++i) fresh.push_back(machine.allocate());
  for (const BlockIndex b : fresh) machine.cpu_fill(b);
  for (const BlockIndex b : old) machine.gpu_fill(b, true);
  machine.events.clear();
  std::vector<gmmu::FaultEntry> batch;
  for (const BlockIndex b : fresh) {
    for (unsigned page = 0; page < kPagesPerBlock; page += 16) {
      gmmu::FaultEntry entry;
      entry.fault.page = PageIndex(b.value * kPagesPerBlock + page);
      entry.fault.access = gmmu::FaultAccess::kRead;
      entry.fault.arrival = machine.now;
      batch.push_back(entry);
    }
  }
  machine.faults.service(0, batch, machine.now);
  ASSERT_EQ(machine.events.evictions.size(), kBlocks);
  std::vector<TransferEvent> out, last_in;
  for (const TransferEvent& run : machine.events.transfers) {
    if (run.direction == TransferDirection::kDeviceToHost) {
      out.push_back(run);
      last_in.emplace_back();
    } else {
      last_in.back() = run;  // the block that needed the victim
    }
  }
  ASSERT_EQ(out.size(), kBlocks);
  for (unsigned i = 0; i < kBlocks; ++i) {
    EXPECT_EQ(out[i].bytes, kBlockBytes);
    EXPECT_GE(last_in[i].start, out[i].end) << "the chunk is copied into once it was read";
    if (i == 0) continue;
    EXPECT_GE((out[i].start - last_in[i - 1].end).value, 7000)
        << "the victim is unmapped after the block before is mapped";
  }
}

// cudaMemPrefetchAsync of several blocks maps them all at the end: the next victim does not wait, and both engines run.
TEST(Eviction, CopiesOutAndInOverlapWhereNothingIsMappedBetween) {
  constexpr unsigned kBlocks = 4;
  config::SystemConfig system = tiny_system();
  system.costs.unmap_host_page_ns = system.costs.evict_page_ns = 0;  // the driver's thread must not be the limit
  Machine machine(kBlocks, system);
  std::vector<BlockIndex> fresh;
  for (unsigned i = 0; i < kBlocks; ++i) {
    const BlockIndex old = machine.allocate();
    machine.cpu_fill(old);  // the host then has memory for it
    machine.gpu_fill(old, true);
  }
  for (unsigned i = 0; i < kBlocks; ++i) fresh.push_back(machine.allocate());
  for (const BlockIndex b : fresh) machine.cpu_fill(b);
  machine.events.clear();
  machine.prefetch({fresh[0], fresh[1], fresh[2], fresh[3]}, gpu_processor(0));
  std::vector<TransferEvent> out, in;
  for (const TransferEvent& run : machine.events.transfers) {
    (run.direction == TransferDirection::kDeviceToHost ? out : in).push_back(run);
  }
  ASSERT_EQ(out.size(), kBlocks);
  ASSERT_EQ(in.size(), kBlocks);
  EXPECT_LT(out[1].start, in[0].end);
}

TEST(Eviction, CostsTimeForEveryPageThatItCopies) {
  const auto service_time = [](unsigned filled, std::uint64_t evict_page_ns) {
    config::SystemConfig system = tiny_system();
    system.costs.evict_page_ns = evict_page_ns;
    Machine machine(1, system);
    const BlockIndex a = machine.allocate(), b = machine.allocate();
    machine.gpu_write(a, page_range(0, filled));
    const Nanoseconds start = machine.now;
    machine.gpu_write(b, pages({0}));
    return (machine.now - start).value;
  };
  for (const unsigned filled : {16u, 512u}) {
    EXPECT_EQ(service_time(filled, 130) - service_time(filled, 30), 100 * filled);
  }
}

}  // namespace
}  // namespace uvmsim::driver
