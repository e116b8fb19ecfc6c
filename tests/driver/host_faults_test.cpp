// SPDX-License-Identifier: Apache-2.0
// Tests of CPU faults: one page each, the tree prefetcher towards the host, copies from the GPU. Source: NVIDIA UVM 580
// uvm_va_block.c (block_cpu_fault_locked).
#include "sim/driver/host_faults.h"

#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "tests/driver/driver_harness.h"

namespace uvmsim::driver {
namespace {

TEST(HostFaults, FirstTouchPopulatesABigPageAndBacksTheBlock) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_write(a, 5);
  EXPECT_EQ(machine.on_host(a).resident, page_range(0, 16));
  EXPECT_EQ(machine.on_host(a).mapped, page_range(0, 16));
  EXPECT_EQ(machine.space.block(a).host_backed, PageMask::all()) << "2 MB host chunk";
  EXPECT_EQ(machine.counters.cpu_faults, 1u);
  EXPECT_TRUE(machine.events.transfers.empty());
  machine.check();
}

TEST(HostFaults, MappedPagesAreFree) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_write(a, 0);
  const Nanoseconds before = machine.now;
  machine.cpu_read(a, 7);
  machine.cpu_write(a, 15);
  EXPECT_EQ(machine.now, before);
  EXPECT_EQ(machine.counters.cpu_faults, 1u);
}

TEST(HostFaults, SixFaultsBringAFullBlockBack) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.gpu_fill(a, true);
  for (unsigned page = 0; page < kPagesPerBlock; ++page) machine.cpu_read(a, page);
  EXPECT_EQ(machine.counters.cpu_faults, 6u);
  EXPECT_EQ(machine.counters.dtoh_fault_transactions, 6u);
  EXPECT_EQ(machine.counters.dtoh_prefetch_transactions, 6u);
  EXPECT_EQ(machine.counters.dtoh_fault_bytes + machine.counters.dtoh_prefetch_bytes, kBlockBytes);
  EXPECT_TRUE(machine.on_gpu(a).mapped.empty());
  EXPECT_EQ(machine.gpus[0].memory.free_chunks(), 0u) << "the chunk stays with the block";
  machine.check();
}

TEST(HostFaults, TheThreadWaitsForTheCopy) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.gpu_write(a, pages({0}));
  machine.cpu_read(a, 0);
  ASSERT_EQ(machine.events.cpu_faults.size(), 1u);
  EXPECT_GE(machine.events.cpu_faults[0].end, machine.events.transfers.back().end);
}

TEST(HostFaults, EvictedPagesFaultWithoutACopy) {
  Machine machine(1);
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.gpu_fill(a, true);
  machine.gpu_read(b, pages({0}));
  machine.events.clear();
  machine.cpu_read(a, 0);
  EXPECT_EQ(machine.events.cpu_faults.size(), 1u);
  EXPECT_TRUE(machine.events.transfers.empty());
  EXPECT_EQ(machine.on_host(a).mapped, PageMask::all()) << "all of the block is resident, so all of it comes along";
  machine.check();
}

TEST(HostFaults, AReadGivesThePermissionToWrite) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.gpu_write(a, pages({0}));
  machine.cpu_read(a, 0);
  EXPECT_TRUE(machine.host_faults.mapped(a, 0, true));
}

TEST(HostFaults, AMappingOfTheGpuSurvivesWhenNothingMoves) {
  Machine machine(1);
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.gpu_fill(a, true);
  machine.gpu_read(b, pages({0}));  // a is on the host now, not mapped by the CPU
  machine.advise(a, trace::Advice::kSetAccessedBy, gpu_processor(0));
  ASSERT_EQ(machine.on_gpu(a).mapped, PageMask::all());
  machine.cpu_write(a, 0);
  EXPECT_EQ(machine.on_gpu(a).mapped, PageMask::all());
  machine.check();
}

TEST(HostFaults, AFullHostIsAnError) {
  config::SystemConfig system = tiny_system();
  system.host.memory_bytes = kBlockBytes;
  Machine machine(4, system);
  const BlockIndex a = machine.allocate(), b = machine.allocate();
  machine.cpu_fill(a);
  EXPECT_THROW(machine.cpu_write(b, 0), InputError);
}

TEST(HostFaults, SmallHostPagesAreBackedAndCopiedOneByOne) {
  config::SystemConfig system = tiny_system();
  system.host.large_pages = false;
  Machine machine(1, system);
  const BlockIndex a = machine.allocate();
  machine.cpu_write(a, 0);
  EXPECT_EQ(machine.space.block(a).host_backed, page_range(0, 16));
  machine.gpu_read(a, pages({0}));
  EXPECT_EQ(machine.topology.engine(0, link::Direction::kHostToDevice).runs(), 16u);
  machine.check();
}

}  // namespace
}  // namespace uvmsim::driver
