// SPDX-License-Identifier: Apache-2.0
// Tests of discard: discarded pages are never copied. Source: NVIDIA UVM 580 uvm_va_block.c (va_block_discard_locked).
#include <gtest/gtest.h>

#include "tests/driver/driver_harness.h"

namespace uvmsim::driver::discard_test {
namespace {

constexpr ProcessorId kGpu0 = gpu_processor(0);

TEST(Discard, DropsThePagesAndKeepsTheChunk) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.gpu_fill(a, true);
  machine.discard(a, PageMask::all());
  EXPECT_TRUE(machine.on_gpu(a).resident.empty());
  EXPECT_TRUE(machine.on_gpu(a).mapped.empty());
  EXPECT_TRUE(machine.has_chunk(a));
  EXPECT_EQ(machine.counters.discarded_pages, 512u);
  machine.check();
}

TEST(Discard, TheChunkGoesBeforeOlderOnesAndWithoutACopy) {
  Machine machine(2);
  const BlockIndex a = machine.allocate(), b = machine.allocate(), c = machine.allocate();
  machine.gpu_fill(a, true);
  machine.gpu_fill(b, true);
  machine.discard(b, PageMask::all());
  machine.gpu_read(c, pages({0}));
  ASSERT_EQ(machine.events.evictions.size(), 1u);
  EXPECT_EQ(machine.events.evictions[0].address, virtual_address(b, 0));
  EXPECT_EQ(machine.counters.dtoh_evict_bytes, 0u);
  machine.check();
}

TEST(Discard, EvictionCopiesOnlyTheRest) {
  Machine machine(1);
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.gpu_fill(a, true);
  machine.discard(a, page_range(128, 512));
  machine.gpu_read(b, pages({0}));
  EXPECT_EQ(machine.counters.dtoh_evict_bytes, 128u * kBasePageBytes);
  EXPECT_EQ(machine.on_host(a).resident, page_range(0, 128));
  machine.check();
}

TEST(Discard, PagesOnTheHostAreNotCopiedEither) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a);
  machine.discard(a, PageMask::all());
  machine.gpu_write(a, pages({0}));
  EXPECT_TRUE(machine.events.transfers.empty());
  EXPECT_EQ(machine.counters.populated_pages, 16u);
  machine.check();
}

TEST(Discard, AWriteMakesDataAgain) {
  Machine machine(1);
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.gpu_fill(a, true);
  machine.discard(a, PageMask::all());
  EXPECT_EQ(machine.gpu_write(a, pages({0})).faulting_pages, 1u) << "unmapped, so that the driver sees the write";
  machine.gpu_read(b, pages({0}));
  EXPECT_EQ(machine.counters.dtoh_evict_bytes, 65536u);
  machine.check();
}

TEST(Discard, ACpuWriteMakesDataAgain) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a, page_range(0, 16));
  machine.discard(a, page_range(0, 16));
  machine.cpu_write(a, 0);
  machine.gpu_read(a, pages({0}));
  EXPECT_EQ(machine.counters.htod_fault_bytes + machine.counters.htod_prefetch_bytes, 65536u);
  machine.check();
}

TEST(Discard, APrefetchPopulatesAgain) {
  Machine machine(1);
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.gpu_fill(a, true);
  machine.discard(a, PageMask::all());
  machine.prefetch({a}, kGpu0);
  EXPECT_EQ(machine.counters.htod_user_bytes, 0u);
  machine.gpu_read(b, pages({0}));
  EXPECT_EQ(machine.counters.dtoh_evict_bytes, kBlockBytes);
}

TEST(Discard, UntouchedPagesHaveNothingToDiscard) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.discard(a, PageMask::all());
  EXPECT_EQ(machine.counters.discarded_pages, 0u);
  EXPECT_TRUE(machine.space.block(a).discarded.empty());
}

// In the variant that keeps mappings, a page's contents are lost at its next move, unless the program prefetches the
// page before.
TEST(DiscardMapped, PagesStayWhereTheyAreAndAreEvictedWithoutACopy) {
  Machine machine(2);
  const BlockIndex a = machine.allocate(), b = machine.allocate(), c = machine.allocate();
  machine.gpu_fill(a, true);
  machine.gpu_fill(b, true);
  machine.residency.departures().discard(b, PageMask::all(), false);
  EXPECT_EQ(machine.on_gpu(b).writable, PageMask::all());
  machine.gpu_read(c, pages({0}));
  ASSERT_EQ(machine.events.evictions.size(), 1u);
  EXPECT_EQ(machine.events.evictions[0].address, virtual_address(b, 0)) << "before older chunks in use";
  EXPECT_EQ(machine.counters.dtoh_evict_bytes, 0u);
  EXPECT_TRUE(machine.on_host(b).resident.empty());
  machine.check();
}

TEST(DiscardMapped, EmptyChunksGoBeforeDiscardedOnes) {
  Machine machine(2);
  const BlockIndex a = machine.allocate(), b = machine.allocate(), c = machine.allocate();
  machine.gpu_fill(a, true);
  machine.gpu_write(b, pages({0}));
  machine.residency.departures().discard(a, PageMask::all(), false);
  machine.prefetch({b}, kHost);
  machine.gpu_read(c, pages({0}));
  EXPECT_EQ(machine.events.evictions.at(0).address, virtual_address(b, 0));
}

TEST(DiscardMapped, APrefetchMakesThePagesDataAgain) {
  Machine machine(1);
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.gpu_fill(a, true);
  machine.residency.departures().discard(a, PageMask::all(), false);
  machine.prefetch({a}, kGpu0);
  EXPECT_TRUE(machine.space.block(a).discarded.empty());
  machine.gpu_read(b, pages({0}));
  EXPECT_EQ(machine.counters.dtoh_evict_bytes, kBlockBytes);
}

TEST(DiscardMapped, ACpuFaultFindsNothingToCopy) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.gpu_fill(a, true);
  machine.residency.departures().discard(a, PageMask::all(), false);
  machine.cpu_read(a, 0);
  EXPECT_TRUE(machine.events.transfers.empty());
  machine.check();
}

}  // namespace
}  // namespace uvmsim::driver::discard_test
