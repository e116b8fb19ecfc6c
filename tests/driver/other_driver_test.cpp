// SPDX-License-Identifier: Apache-2.0
// Tests of how other drivers differ from NVIDIA's: larger pages, reclaim in batches, pins, replication
// (configs/drivers).
#include <gtest/gtest.h>

#include <array>

#include "sim/common/error.h"
#include "tests/driver/driver_harness.h"

namespace uvmsim::driver {
namespace {

config::SystemConfig with(std::uint64_t page_bytes, std::uint32_t reclaim_batch = 1, bool reclaim_waits = false) {
  config::SystemConfig system = tiny_system();
  system.driver.page_bytes = page_bytes;
  system.driver.reclaim_batch = reclaim_batch;
  system.driver.reclaim_waits = reclaim_waits;
  system.driver.thrashing_enable = false;
  return system;
}

std::shared_ptr<policy::Prefetcher> no_prefetcher() {
  return policy::built_ins()->create<policy::Prefetcher>("none", {}, 1, 4);
}

TEST(OtherDriver, AFaultBringsAWholePage) {
  for (const std::uint64_t page_bytes : {kBasePageBytes, kBigPageBytes, kBlockBytes}) {
    const auto pages_of_one = static_cast<unsigned>(page_bytes / kBasePageBytes);
    Machine machine(4, with(page_bytes), "lrm", {}, no_prefetcher());
    const BlockIndex a = machine.allocate();
    machine.gpu_write(a, pages({17}));
    const unsigned first = 17 / pages_of_one * pages_of_one;
    EXPECT_EQ(machine.on_gpu(a).resident, page_range(first, first + pages_of_one));
    EXPECT_EQ(machine.on_gpu(a).writable, machine.on_gpu(a).resident);
    machine.cpu_read(a, 17);
    EXPECT_EQ(machine.on_host(a).resident, page_range(first, first + pages_of_one)) << "CPU faults likewise";
    EXPECT_TRUE(machine.on_gpu(a).resident.empty());
    machine.check();
  }
}

TEST(OtherDriver, PagesOfAShortBlockEndWithIt) {
  Machine machine(4, with(kBlockBytes), "lrm", {}, no_prefetcher());
  const BlockIndex a = machine.allocate(100 * kBasePageBytes);
  machine.gpu_write(a, pages({99}));
  EXPECT_EQ(machine.on_gpu(a).resident, page_range(0, 100));
  machine.check();
}

TEST(OtherDriver, CallsRoundToPages) {
  Machine machine(4, with(kBlockBytes), "lrm", {}, no_prefetcher());
  const BlockIndex a = machine.allocate(2 * kBlockBytes);
  const BlockIndex b(a.value + 1);
  const BlockSpan part{a, 100, 50};
  machine.user.prefetch({&part, 1}, gpu_processor(0), machine.now);
  EXPECT_EQ(machine.on_gpu(a).resident, PageMask::all()) << "outward";
  machine.gpu_write(b, pages({0}));
  machine.discard(a, page_range(1, 512));
  machine.discard(b, page_range(0, 512));
  EXPECT_EQ(machine.on_gpu(a).resident, PageMask::all()) << "inward";
  EXPECT_TRUE(machine.on_gpu(b).resident.empty());
  machine.check();
}

TEST(OtherDriver, ReclaimsInBatches) {
  Machine machine(4, with(kBlockBytes, 3), "lrm", {}, no_prefetcher());
  std::vector<BlockIndex> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(machine.allocate());
  for (int i = 0; i < 4; ++i) machine.gpu_write(blocks[static_cast<std::size_t>(i)], pages({0}));
  EXPECT_EQ(machine.counters.evictions, 0u);
  machine.gpu_write(blocks[4], pages({0}));
  EXPECT_EQ(machine.counters.evictions, 3u);
  EXPECT_EQ(machine.gpus[0].memory.free_chunks(), 2u);
  EXPECT_EQ(machine.on_gpu(blocks[3]).resident, PageMask::all()) << "the last one that came stays";
  EXPECT_EQ(machine.counters.policy_shortfalls, 0u);
  machine.check();
}

TEST(OtherDriver, WaitsForWhatItReclaims) {
  for (const bool waits : {false, true}) {
    config::SystemConfig system = with(kBlockBytes, 2, waits);
    system.costs.unmap_host_run_ns = system.costs.unmap_host_page_ns = 0;  // no other waits
    Machine machine(2, system, "lrm", {}, no_prefetcher());
    const BlockIndex a = machine.allocate(), b = machine.allocate(), c = machine.allocate();
    machine.cpu_fill(c);
    machine.gpu_write(a, pages({0}));
    machine.gpu_write(b, pages({0}));
    machine.events.clear();
    machine.gpu_write(c, pages({0}));
    ASSERT_EQ(machine.events.transfers.size(), 4u);  // a and b out, c in: the page that faulted and the rest
    const TransferEvent& last_out = machine.events.transfers[1];
    const TransferEvent& in = machine.events.transfers[2];
    EXPECT_EQ(in.start > last_out.end, waits);
  }
}

TEST(OtherDriver, PinnedBlocksStay) {
  Machine machine(2, with(kBasePageBytes));
  const BlockIndex a = machine.allocate(), b = machine.allocate(), c = machine.allocate(), d = machine.allocate();
  machine.gpu_write(a, pages({0}));
  machine.advise(a, trace::Advice::kSetPinned);
  for (const BlockIndex block : {b, c, d}) machine.gpu_write(block, pages({0}));
  EXPECT_TRUE(machine.on_gpu(a).resident.test(0));
  EXPECT_EQ(machine.counters.evictions, 2u);
  machine.advise(a, trace::Advice::kUnsetPinned);
  machine.gpu_write(b, pages({0}));
  machine.gpu_write(c, pages({0}));
  EXPECT_TRUE(machine.on_gpu(a).resident.empty());
  machine.check();
}

TEST(OtherDriver, MemoryFullOfPinsIsAnError) {
  for (const char* granularity : {"2m", "64k"}) {
    Machine machine(1, with(kBasePageBytes), "lru", {{"granularity", granularity}});
    const BlockIndex a = machine.allocate(), b = machine.allocate();
    machine.gpu_fill(a, true);
    machine.advise(a, trace::Advice::kSetPinned);
    EXPECT_THROW(machine.gpu_write(b, pages({0})), InputError);
  }
}

TEST(OtherDriver, FreeingUnpins) {
  Machine machine(1, with(kBasePageBytes));
  const BlockIndex a = machine.allocate(), b = machine.allocate(), c = machine.allocate();
  machine.gpu_fill(a, true);
  machine.advise(a, trace::Advice::kSetPinned);
  machine.residency.departures().release(a);
  machine.gpu_write(b, pages({0}));
  machine.gpu_write(c, pages({0}));
  EXPECT_EQ(machine.counters.evictions, 1u);
}

// A write to read-mostly memory moves a whole page of the driver, wherever its parts are.
TEST(OtherDriver, AWriteTakesAWholeReplicatedPage) {
  for (const std::uint64_t page_bytes : {kBasePageBytes, kBigPageBytes, kBlockBytes}) {
    const auto pages_of_one = static_cast<unsigned>(page_bytes / kBasePageBytes);
    const unsigned first = 17 / pages_of_one * pages_of_one;
    const PageMask page = page_range(first, first + pages_of_one);
    for (const bool on_host : {false, true}) {
      for (const bool read_before : {false, true}) {
        Machine machine(4, with(page_bytes), "lrm", {}, no_prefetcher());
        const BlockIndex a = machine.allocate();
        machine.advise(a, trace::Advice::kSetReadMostly);
        if (on_host) machine.cpu_fill(a);
        if (read_before) machine.gpu_read(a, PageMask::all());
        machine.gpu_write(a, pages({17}));
        EXPECT_EQ(machine.on_gpu(a).writable, page) << page_bytes;
        EXPECT_EQ(machine.on_gpu(a).resident & page, page);
        EXPECT_FALSE(machine.on_host(a).resident.intersects(page)) << "the copies there are void";
        EXPECT_FALSE(machine.space.block(a).read_duplicated.intersects(page));
        machine.check();
      }
    }
  }
}

TEST(OtherDriver, ReadsOfAWrittenPageMoveWithIt) {
  Machine machine(4, with(kBigPageBytes), "lrm", {}, no_prefetcher());
  const BlockIndex a = machine.allocate();
  machine.advise(a, trace::Advice::kSetReadMostly);
  machine.cpu_fill(a);
  std::vector<gmmu::FaultEntry> batch(3);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    batch[i].fault.page = PageIndex(a.value * kPagesPerBlock + std::array{3u, 5u, 40u}[i]);
    batch[i].fault.access = i == 1 ? gmmu::FaultAccess::kWrite : gmmu::FaultAccess::kRead;
  }
  machine.faults.service(0, batch, machine.now);
  EXPECT_EQ(machine.on_gpu(a).writable, page_range(0, 16)) << "page 5 was written";
  EXPECT_EQ(machine.on_gpu(a).mapped, page_range(0, 16) | page_range(32, 48));
  EXPECT_EQ(machine.space.block(a).read_duplicated, page_range(32, 48)) << "page 40 was read";
  machine.check();
}

TEST(OtherDriver, TheCpuTakesAWholeReplicatedPage) {
  Machine machine(4, with(kBlockBytes), "lrm", {}, no_prefetcher());
  const BlockIndex a = machine.allocate();
  machine.advise(a, trace::Advice::kSetReadMostly);
  machine.gpu_write(a, pages({0}));
  machine.cpu_read(a, 7);
  EXPECT_EQ(machine.space.block(a).read_duplicated, PageMask::all());
  const std::uint64_t faults = machine.counters.cpu_faults;
  machine.cpu_fill(a);
  EXPECT_EQ(machine.counters.cpu_faults, faults + 1);
  EXPECT_TRUE(machine.on_gpu(a).resident.empty());
  machine.check();
}

TEST(OtherDriver, AFaultMapsAWholePageFromAfar) {
  Machine machine(4, with(kBlockBytes), "lrm", {}, no_prefetcher());
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a);
  machine.advise(a, trace::Advice::kSetPreferredLocation, kHost);
  machine.gpu_read(a, pages({17}));
  EXPECT_EQ(machine.on_gpu(a).mapped, PageMask::all());
  EXPECT_TRUE(machine.on_gpu(a).resident.empty());
  machine.check();
}

TEST(OtherDriver, InitialHintsReplicate) {
  AddressSpace space(1, {.read_mostly = true});
  const BlockIndex a = space.allocate(0, kBlockBytes);
  EXPECT_TRUE(space.block(a).hints.read_mostly);
  EXPECT_FALSE(AddressSpace(1).block_count() != 0);
}

}  // namespace
}  // namespace uvmsim::driver
