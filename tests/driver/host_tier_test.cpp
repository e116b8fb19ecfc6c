// SPDX-License-Identifier: Apache-2.0
// Tests of host memory of limited size with an SSD below it: which pages leave and return, when, and at which cost.
#include "sim/driver/host_tier.h"

#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "tests/driver/driver_harness.h"

namespace uvmsim::driver {
namespace {

// The latencies of G10's SSD: 12 us to read, 16 us to write; its rate is 3.2 GB/s.
constexpr Nanoseconds kRead(12000), kWrite(16000);
Nanoseconds transfer(std::uint64_t pages) { return Nanoseconds(static_cast<std::int64_t>(pages * 1280)); }

config::SystemConfig three_tiers(std::uint64_t host_blocks, std::uint64_t reclaim_bytes = kBlockBytes) {
  config::SystemConfig system = tiny_system();
  system.host.memory_bytes = host_blocks * kBlockBytes;
  system.host.reclaim_bytes = reclaim_bytes;
  system.host.watermark_scale_factor = 0;
  system.ssd = {std::uint64_t{1} << 30, 3200, 3200, 12000, 16000, 32};
  system.driver.thrashing_enable = false;
  return system;
}

TEST(HostTier, OnePageDownAndUpTakesWhatTheFormulaSays) {
  const config::SystemConfig system = three_tiers(1, kBasePageBytes);
  const auto cost = [](std::uint64_t ns) { return Nanoseconds(static_cast<std::int64_t>(ns)); };
  Machine machine(1, system);
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.cpu_fill(a);

  // The first touch of b takes 64 KB: the 16 oldest pages of a are written first, in one request.
  Nanoseconds before = machine.now;
  machine.cpu_write(b, 0);
  EXPECT_EQ(machine.now - before, cost(system.costs.host_allocate_chunk_ns) + kWrite + transfer(16) +
                                      cost(system.costs.cpu_fault_ns + 16 * system.costs.cpu_fault_page_ns));
  EXPECT_EQ(machine.context.host_memory.in_memory(a), page_range(16, 512));
  EXPECT_EQ(machine.on_host(a).resident, PageMask::all()) << "still the host's";
  EXPECT_EQ(machine.on_host(a).mapped, page_range(16, 512));

  // One page of a is read back; before, one page of b makes room for it.
  before = machine.now;
  machine.cpu_read(a, 3);
  EXPECT_EQ(machine.now - before, kWrite + transfer(1) + kRead + transfer(1) + cost(system.costs.cpu_fault_ns));
  EXPECT_EQ(machine.counters.ssd_read_bytes, kBasePageBytes);
  EXPECT_EQ(machine.counters.ssd_reads, 1u);
  EXPECT_EQ(machine.counters.ssd_write_bytes, 17 * kBasePageBytes);
  EXPECT_EQ(machine.counters.ssd_writes, 2u);
  EXPECT_EQ(machine.counters.host_waits, 2u);
  EXPECT_EQ(machine.counters.host_reclaimed_pages, 17u);
  machine.check();
}

TEST(HostTier, EvictionsCascadeAndFaultsReadBack) {
  Machine machine(1, three_tiers(1));
  const BlockIndex a = machine.allocate(), b = machine.allocate(), c = machine.allocate();
  machine.gpu_fill(a, true);
  machine.gpu_fill(b, true);  // a goes to the host
  EXPECT_TRUE(machine.events.storage.empty());
  machine.events.clear();
  machine.gpu_write(c, pages({0}));  // b goes to the host, and a to the SSD
  ASSERT_EQ(machine.events.storage.size(), 1u);
  const StorageEvent down = machine.events.storage[0];
  EXPECT_TRUE(down.write);
  EXPECT_EQ(down.address, virtual_address(a, 0));
  EXPECT_EQ(down.bytes, kBlockBytes);
  EXPECT_EQ(down.end - down.start, kWrite + transfer(512));
  ASSERT_FALSE(machine.events.transfers.empty());
  EXPECT_GE(machine.events.transfers[0].start, down.end) << "b leaves when there is memory for it";
  machine.check();

  machine.events.clear();
  const PageMask back = pages({0}).grown_to_big_pages();
  machine.gpu_read(a, pages({0}));  // 16 pages of c go to the host, so b to the SSD; 16 of a are read beside them
  ASSERT_EQ(machine.events.storage.size(), 2u);
  const StorageEvent up = machine.events.storage[1];
  EXPECT_FALSE(up.write);
  EXPECT_EQ(up.bytes, 16 * kBasePageBytes);
  EXPECT_EQ(up.end - up.start, kRead + transfer(16));
  EXPECT_EQ(machine.events.transfers.back().direction, TransferDirection::kHostToDevice);
  EXPECT_EQ(machine.counters.htod_fault_bytes + machine.counters.htod_prefetch_bytes, 16 * kBasePageBytes);
  EXPECT_GE(machine.events.transfers.back().start, up.end);
  EXPECT_EQ(machine.on_gpu(a).resident, back);
  EXPECT_EQ(machine.context.host_memory.swapped(a, machine.on_host(a).resident), PageMask::all() - back);
  machine.check();
}

TEST(HostTier, APageThatWasOnlyReadLeavesWithoutAWrite) {
  Machine machine(1, three_tiers(2));
  const BlockIndex a = machine.allocate(), b = machine.allocate(), c = machine.allocate();
  machine.cpu_fill(a);
  machine.cpu_fill(b);
  machine.cpu_fill(c);  // a is written to the SSD
  ASSERT_EQ(machine.counters.ssd_write_bytes, kBlockBytes);
  machine.cpu_read(a, 0);  // b is written, and a is read back whole, because its unit is the block
  EXPECT_EQ(machine.counters.ssd_read_bytes, kBlockBytes);
  EXPECT_EQ(machine.counters.ssd_write_bytes, 2 * kBlockBytes);
  machine.cpu_read(c, 0);
  machine.cpu_read(b, 0);  // a leaves without a write, because it is unchanged
  EXPECT_EQ(machine.counters.ssd_write_bytes, 2 * kBlockBytes);
  EXPECT_EQ(machine.counters.host_clean_pages, kPagesPerBlock);
  machine.cpu_write(b, 1);
  machine.cpu_read(a, 0);  // c is written to the SSD
  machine.cpu_read(c, 0);  // one page of b is written
  EXPECT_EQ(machine.counters.ssd_write_bytes, 3 * kBlockBytes + kBasePageBytes);
  machine.check();
}

TEST(HostTier, WhatAGpuMayWriteHasNoCopyOnTheSsd) {
  Machine machine(4, three_tiers(1));
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.cpu_fill(a);
  machine.cpu_fill(b);
  ASSERT_EQ(machine.context.host_memory.saved_pages(), kPagesPerBlock);
  machine.prefetch({a}, gpu_processor(0));
  EXPECT_EQ(machine.context.host_memory.saved_pages(), kPagesPerBlock) << "b made room for a on its way";
  EXPECT_TRUE(machine.context.host_memory.saved(a).empty());
  EXPECT_EQ(machine.context.host_memory.used_pages(), 0u) << "what moved needs no host memory";
  machine.check();
}

TEST(HostTier, ReadDuplicatesStayCleanOnTheHost) {
  Machine machine(4, three_tiers(1));
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.cpu_fill(a);
  machine.cpu_fill(b);
  machine.advise(a, trace::Advice::kSetReadMostly);
  machine.prefetch({a}, gpu_processor(0));
  EXPECT_EQ(machine.context.host_memory.saved(a), PageMask::all());
  EXPECT_EQ(machine.context.host_memory.in_memory(a), PageMask::all());
  const std::uint64_t written = machine.counters.ssd_write_bytes;
  machine.cpu_read(b, 0);
  EXPECT_EQ(machine.counters.ssd_write_bytes, written);
  EXPECT_EQ(machine.on_gpu(a).resident, PageMask::all());
  machine.check();
}

TEST(HostTier, RemoteMappingsGoWithThePages) {
  Machine machine(1, three_tiers(1));
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.cpu_fill(a);
  machine.advise(a, trace::Advice::kSetAccessedBy, gpu_processor(0));
  ASSERT_EQ(machine.on_gpu(a).mapped, PageMask::all());
  const std::uint64_t epoch = machine.space.unmap_epoch(0);
  machine.cpu_fill(b);
  EXPECT_TRUE(machine.on_gpu(a).mapped.empty());
  EXPECT_TRUE(machine.on_host(a).mapped.empty());
  EXPECT_GT(machine.space.unmap_epoch(0), epoch);
  machine.gpu_read(a, pages({7}));  // read back to the host, and mapped remotely
  EXPECT_EQ(machine.on_gpu(a).mapped, PageMask::all());
  EXPECT_TRUE(machine.on_gpu(a).resident.empty());
  machine.check();
}

TEST(HostTier, PrefetchToTheHostReadsBack) {
  Machine machine(1, three_tiers(1));
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.cpu_fill(a);
  machine.cpu_fill(b);
  const Nanoseconds before = machine.now;
  machine.prefetch({a}, kHost);
  EXPECT_EQ(machine.context.host_memory.in_memory(a), PageMask::all());
  EXPECT_EQ(machine.on_host(a).mapped, PageMask::all());
  EXPECT_GE(machine.now - before, kWrite + kRead + transfer(512) + transfer(512));
  machine.check();
}

TEST(HostTier, BelowTheWatermarkMemoryIsFreedAhead) {
  config::SystemConfig system = three_tiers(10);
  system.host.watermark_scale_factor = 1000;  // below 1 free block of 10, two are freed
  Machine machine(1, system);
  std::vector<BlockIndex> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(machine.allocate());
  for (int i = 0; i < 9; ++i) machine.cpu_fill(blocks[static_cast<std::size_t>(i)]);
  EXPECT_EQ(machine.counters.ssd_writes, 0u);
  machine.cpu_write(blocks[9], 0);
  EXPECT_EQ(machine.counters.host_reclaimed_pages, 2 * kPagesPerBlock);
  EXPECT_EQ(machine.counters.host_waits, 0u);
  EXPECT_EQ(machine.context.host_memory.in_memory(blocks[0]), PageMask{});
  EXPECT_EQ(machine.context.host_memory.in_memory(blocks[2]), PageMask::all());
  machine.check();
}

TEST(HostTier, FreedAndDiscardedPagesLeaveBothTiers) {
  Machine machine(1, three_tiers(1));
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.cpu_fill(a);
  machine.cpu_fill(b);
  machine.discard(a, page_range(0, 256));
  EXPECT_EQ(machine.context.host_memory.saved_pages(), 256u);
  machine.residency.departures().release(a);
  EXPECT_EQ(machine.context.host_memory.saved_pages(), 0u);
  machine.residency.departures().release(b);
  EXPECT_EQ(machine.context.host_memory.used_pages(), 0u);
  machine.check();
}

TEST(HostTier, AFullSsdIsAnError) {
  config::SystemConfig system = three_tiers(1);
  system.ssd.memory_bytes = kBlockBytes;
  Machine machine(1, system);
  const BlockIndex a = machine.allocate(), b = machine.allocate(), c = machine.allocate();
  machine.cpu_fill(a);
  machine.cpu_fill(b);
  EXPECT_THROW(machine.cpu_write(c, 0), InputError);
}

}  // namespace
}  // namespace uvmsim::driver
