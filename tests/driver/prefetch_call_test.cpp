// SPDX-License-Identifier: Apache-2.0
// Tests of cudaMemPrefetchAsync: whole ranges, two passes, and the effect on the order of eviction. Source: NVIDIA UVM
// 580 uvm_migrate.c.
#include <gtest/gtest.h>

#include "tests/driver/driver_harness.h"

namespace uvmsim::driver::prefetch_call_test {
namespace {

constexpr ProcessorId kGpu0 = gpu_processor(0);

TEST(PrefetchCall, MovesAHostBlockInOneTransactionOfTheUser) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a);
  machine.prefetch({a}, kGpu0);
  ASSERT_EQ(machine.events.transfers.size(), 1u);
  EXPECT_EQ(machine.events.transfers[0].cause, TransferCause::kUser);
  EXPECT_EQ(machine.events.transfers[0].bytes, kBlockBytes);
  EXPECT_EQ(machine.on_gpu(a).writable, PageMask::all());
  EXPECT_TRUE(machine.on_host(a).mapped.empty());
  machine.check();
}

TEST(PrefetchCall, PopulatesWhatNobodyTouched) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.cpu_fill(a, page_range(0, 16));
  machine.prefetch({a}, kGpu0);
  EXPECT_EQ(machine.counters.htod_user_bytes, 65536u);
  EXPECT_EQ(machine.counters.populated_pages, 496u);
  EXPECT_EQ(machine.on_gpu(a).resident, PageMask::all());
}

// Example 12 of docs/driver.md: the blocks of the range become the youngest, in ascending order.
TEST(PrefetchCall, Vector12RefreshesEveryBlockOfTheRange) {
  Machine machine(4);
  std::vector<BlockIndex> block;
  for (std::size_t i = 0; i < 8; ++i) block.push_back(machine.allocate());
  for (std::size_t i = 0; i < 4; ++i) machine.gpu_read(block[3 - i], pages({0}));  // oldest: 3, 2, 1, 0
  machine.prefetch({block[1], block[2], block[3]}, kGpu0);                         // oldest: 0, then 1, 2, 3
  machine.events.clear();
  for (std::size_t i = 4; i < 8; ++i) machine.gpu_read(block[i], pages({0}));
  ASSERT_EQ(machine.events.evictions.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(machine.events.evictions[i].address, virtual_address(block[i], 0));
  machine.check();
}

TEST(PrefetchCall, RefreshesBlocksThatAreThereAlready) {
  Machine machine(2);
  const BlockIndex a = machine.allocate(), b = machine.allocate(), c = machine.allocate();
  machine.prefetch({a}, kGpu0);
  machine.prefetch({b}, kGpu0);
  machine.prefetch({a}, kGpu0);
  EXPECT_EQ(machine.counters.populated_pages, 2u * kPagesPerBlock);
  machine.gpu_read(c, pages({0}));
  EXPECT_EQ(machine.events.evictions.at(0).address, virtual_address(b, 0));
}

// The second pass finds that the tail of the range evicted its head, and so on around the range.
TEST(PrefetchCall, ARangeLargerThanMemoryMovesTwice) {
  Machine machine(2);
  const BlockIndex a = machine.allocate(), b = machine.allocate(), c = machine.allocate();
  for (const BlockIndex block : {a, b, c}) machine.cpu_fill(block);
  machine.prefetch({a, b, c}, kGpu0);
  EXPECT_EQ(machine.counters.evictions, 1u + 3u);
  EXPECT_EQ(machine.counters.htod_user_bytes, 6u * kBlockBytes);
  EXPECT_EQ(machine.counters.dtoh_evict_bytes, 4u * kBlockBytes);
  EXPECT_TRUE(machine.on_gpu(a).resident.empty());
  EXPECT_EQ(machine.on_gpu(c).writable, PageMask::all());
  machine.check();
}

TEST(PrefetchCall, TheWayBackMapsThePagesOnTheCpu) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  machine.gpu_fill(a, true);
  machine.prefetch({a}, kHost);
  EXPECT_EQ(machine.counters.dtoh_user_bytes, kBlockBytes);
  EXPECT_EQ(machine.counters.dtoh_user_transactions, 1u);
  machine.cpu_write(a, 300);
  EXPECT_EQ(machine.counters.cpu_faults, 0u);
  EXPECT_TRUE(machine.on_gpu(a).mapped.empty());
  machine.check();
}

TEST(PrefetchCall, IsClippedToTheRange) {
  Machine machine(2);
  const BlockIndex a = machine.allocate(kBlockBytes + 3 * kBasePageBytes);
  const BlockIndex tail(a.value + 1);
  machine.prefetch({a, tail}, kGpu0);
  EXPECT_EQ(machine.on_gpu(tail).resident, page_range(0, 3));
  machine.check();
}

TEST(PrefetchCall, PartsOfABlockLeaveTheRest) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  const std::vector<BlockSpan> span = {{a, 100, 50}};
  machine.user.prefetch(span, kGpu0, machine.now);
  EXPECT_EQ(machine.on_gpu(a).resident, page_range(100, 150));
}

TEST(PrefetchCall, ForgetsThatThePagesThrash) {
  Machine machine(1);
  const BlockIndex a = machine.allocate();
  for (int i = 0; i < 3; ++i) {
    machine.gpu_write(a, pages({0}));
    machine.cpu_write(a, 0);
  }
  ASSERT_FALSE(machine.thrashing.pages(a).empty());
  machine.prefetch({a}, kGpu0);
  EXPECT_TRUE(machine.thrashing.pages(a).empty());
}

// The caller's thread waits for copies to the host, not for those to a GPU. Twice the blocks take twice as long, in
// addition to the cost of the call itself.
TEST(PrefetchCall, TheCallerWaitsForCopiesToTheHostOnly) {
  const auto times = [](unsigned blocks, bool back) {
    Machine machine(8);
    std::vector<BlockSpan> spans;
    for (unsigned i = 0; i < blocks; ++i) {
      spans.push_back({machine.allocate(), 0, kPagesPerBlock});
      machine.cpu_fill(spans.back().block);
    }
    const auto there = machine.user.prefetch(spans, kGpu0, machine.now);
    const auto start = back ? there.done : machine.now;
    const auto last = back ? machine.user.prefetch(spans, kHost, start) : there;
    return std::pair{(last.returned - start).value, (last.done - start).value};
  };
  EXPECT_LT(times(4, false).first, times(4, false).second);
  EXPECT_EQ(times(4, true).first, times(4, true).second);
  for (const bool back : {false, true}) {
    const std::int64_t two = times(2, back).first, four = times(4, back).first;
    const config::DriverCosts costs = tiny_system().costs;
    const auto once = static_cast<std::int64_t>(costs.prefetch_call_ns + costs.prefetch_move_ns);
    EXPECT_NEAR(static_cast<double>(four - once), 2 * static_cast<double>(two - once),
                0.05 * static_cast<double>(four));
  }
}

// The cost depends on where the pages are.
TEST(PrefetchCall, WhatIsThereAlreadyCostsLeast) {
  const auto time = [](auto&& prepare) {
    Machine machine(4);
    const BlockIndex block = machine.allocate();
    prepare(machine, block);
    const BlockSpan span{block, 0, kPagesPerBlock};
    return (machine.user.prefetch({&span, 1}, kGpu0, machine.now).returned - machine.now).value;
  };
  const auto there = time([](Machine& machine, BlockIndex block) { machine.prefetch({block}, kGpu0); });
  const auto untouched = time([](Machine&, BlockIndex) {});
  const auto half = time([](Machine& machine, BlockIndex block) {
    machine.cpu_fill(block);
    const BlockSpan lower{block, 0, kPagesPerBlock / 2};
    machine.user.prefetch({&lower, 1}, kGpu0, machine.now);
  });
  const auto host = time([](Machine& machine, BlockIndex block) { machine.cpu_fill(block); });
  EXPECT_LT(there, untouched);
  EXPECT_LT(untouched, half);
  EXPECT_LT(half, host);
}

}  // namespace
}  // namespace uvmsim::driver::prefetch_call_test
