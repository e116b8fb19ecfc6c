// SPDX-License-Identifier: Apache-2.0
// Tests of access counters. Source: NVIDIA UVM uvm_gpu_access_counters.c.
#include "sim/driver/access_counters.h"

#include <gtest/gtest.h>

#include "tests/driver/driver_harness.h"

namespace uvmsim::driver::access_counters_test {
namespace {

using trace::Advice;

constexpr ProcessorId kGpu0 = gpu_processor(0);

config::SystemConfig counting_system() {
  config::SystemConfig system = tiny_system();
  system.driver.access_counter_migration = true;
  return system;
}

// Returns a full block on the host that the GPU has mapped remotely.
BlockIndex remote_block(Machine& machine) {
  const BlockIndex block = machine.allocate();
  machine.cpu_fill(block);
  machine.advise(block, Advice::kSetAccessedBy, kGpu0);
  machine.events.clear();
  return block;
}

TEST(AccessCounters, AreOffByDefault) {
  Machine machine(2);
  const BlockIndex a = remote_block(machine);
  EXPECT_FALSE(machine.access_counters.enabled(0));
  machine.access_counters.on_remote_access(0, a, PageMask::all(), 100000);
  EXPECT_FALSE(machine.access_counters.pending(0));
  EXPECT_EQ(machine.access_counters.service(0, machine.now), machine.now);
}

TEST(AccessCounters, NotifyAtTheThresholdOncePerRegion) {
  Machine machine(2, counting_system());
  const BlockIndex a = remote_block(machine), b = remote_block(machine);
  machine.access_counters.on_remote_access(0, a, pages({0}), 255);
  machine.access_counters.on_remote_access(0, b, pages({0}), 255);
  EXPECT_FALSE(machine.access_counters.pending(0));
  machine.access_counters.on_remote_access(0, a, pages({0}), 1);
  EXPECT_EQ(machine.counters.access_counter_notifications, 1u);
  machine.access_counters.on_remote_access(0, a, pages({0}), 100000);
  EXPECT_EQ(machine.counters.access_counter_notifications, 1u) << "it stands still until it was serviced";
}

TEST(AccessCounters, BringTheAccessedUnitsOver) {
  Machine machine(2, counting_system());
  const BlockIndex a = remote_block(machine);
  machine.access_counters.on_remote_access(0, a, pages({3, 100}), 256);
  machine.advance_to(machine.access_counters.service(0, machine.now));
  EXPECT_EQ(machine.on_gpu(a).resident, page_range(0, 16) | page_range(96, 112));
  EXPECT_EQ(machine.on_gpu(a).mapped, PageMask::all()) << "the rest stays mapped remotely";
  EXPECT_EQ(machine.counters.htod_counter_bytes, 2u * kBigPageBytes);
  ASSERT_EQ(machine.events.transfers.size(), 2u);
  EXPECT_EQ(machine.events.transfers[0].cause, TransferCause::kAccessCounter);
  machine.check();
  // The counter has restarted from 0.
  machine.access_counters.on_remote_access(0, a, pages({200}), 256);
  EXPECT_EQ(machine.counters.access_counter_notifications, 2u);
}

TEST(AccessCounters, AskTheTree) {
  Machine machine(2, counting_system());
  const BlockIndex a = remote_block(machine);
  machine.access_counters.on_remote_access(0, a, page_range(0, 17 * 16), 1000);
  machine.access_counters.service(0, machine.now);
  EXPECT_EQ(machine.on_gpu(a).resident, PageMask::all());
  EXPECT_EQ(machine.counters.htod_counter_bytes, 17u * kBigPageBytes);
  EXPECT_EQ(machine.counters.htod_prefetch_bytes, 15u * kBigPageBytes);
}

TEST(AccessCounters, WithoutALargeHostPageOnlyTheNotifiedPageIsAsked) {
  config::SystemConfig system = counting_system();
  system.host.large_pages = false;
  Machine machine(2, system);
  const BlockIndex a = remote_block(machine);
  machine.access_counters.on_remote_access(0, a, pages({37, 200}), 256);
  machine.access_counters.service(0, machine.now);
  EXPECT_EQ(machine.counters.htod_counter_bytes, kBasePageBytes);
  EXPECT_EQ(machine.on_gpu(a).resident, page_range(32, 48)) << "and the tree makes 64 KB of it";
}

TEST(AccessCounters, APreferredHostKeepsItsPages) {
  Machine machine(2, counting_system());
  const BlockIndex a = remote_block(machine);
  machine.advise(a, Advice::kSetPreferredLocation, kHost);
  machine.access_counters.on_remote_access(0, a, PageMask::all(), 100000);
  machine.access_counters.service(0, machine.now);
  EXPECT_TRUE(machine.on_gpu(a).resident.empty());
  EXPECT_EQ(machine.on_gpu(a).mapped, PageMask::all());
}

TEST(AccessCounters, StaleNotificationsDoNothing) {
  Machine machine(2, counting_system());
  const BlockIndex a = remote_block(machine), b = remote_block(machine), c = remote_block(machine);
  for (const BlockIndex block : {a, b, c}) machine.access_counters.on_remote_access(0, block, pages({0}), 256);
  machine.prefetch({a}, kGpu0);  // the page is local after this
  unmap(machine.context, b, 0, PageMask::all());
  machine.access_counters.forget(c);
  machine.events.clear();
  machine.access_counters.service(0, machine.now);
  EXPECT_TRUE(machine.events.transfers.empty());
  machine.check();
}

TEST(AccessCounters, BatchesAreLimited) {
  config::SystemConfig system = counting_system();
  system.driver.access_counter_batch_count = 2;
  Machine machine(8, system);
  std::vector<BlockIndex> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(remote_block(machine));
  for (std::size_t i = blocks.size(); i-- > 0;) machine.access_counters.on_remote_access(0, blocks[i], pages({0}), 256);
  machine.access_counters.service(0, machine.now);
  ASSERT_EQ(machine.events.transfers.size(), 5u);
  // Notifications are sorted by address within a batch, and batches are in order of arrival: {4 3} {2 1} {0}.
  const std::vector<std::size_t> order = {3, 4, 1, 2, 0};
  for (std::size_t i = 0; i < order.size(); ++i) {
    EXPECT_EQ(machine.events.transfers[i].address, virtual_address(blocks[order[i]], 0));
  }
  EXPECT_FALSE(machine.access_counters.pending(0));
}

TEST(AccessCounters, EvictedPagesStayMapped) {
  Machine machine(1, counting_system());
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.gpu_fill(a, true);
  machine.gpu_write(b, pages({0}));
  EXPECT_TRUE(machine.on_gpu(a).resident.empty());
  EXPECT_EQ(machine.on_gpu(a).mapped, PageMask::all());
  EXPECT_EQ(machine.on_gpu(a).writable, PageMask::all());
  EXPECT_EQ(machine.counters.remote_map_bytes, kBlockBytes);
  machine.check();
}

TEST(AccessCounters, EvictedPagesOfAPreferredGpuFaultAgain) {
  Machine machine(1, counting_system());
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.advise(a, Advice::kSetPreferredLocation, kGpu0);
  machine.gpu_write(a, pages({0}));
  machine.gpu_write(b, pages({0}));
  EXPECT_TRUE(machine.on_gpu(a).mapped.empty());
}

TEST(AccessCounters, DuplicateUnderReadMostly) {
  Machine machine(2, counting_system());
  const BlockIndex a = remote_block(machine);
  machine.space.block(a).hints.read_mostly = true;
  machine.access_counters.on_remote_access(0, a, pages({0}), 256);
  machine.access_counters.service(0, machine.now);
  EXPECT_TRUE(machine.on_gpu(a).resident.test(0));
  EXPECT_TRUE(machine.on_host(a).resident.test(0));
  machine.check();
}

}  // namespace
}  // namespace uvmsim::driver::access_counters_test
