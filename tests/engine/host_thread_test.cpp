// SPDX-License-Identifier: Apache-2.0
// The host runs ahead of the GPU and waits where the API makes it wait.
#include <gtest/gtest.h>

#include "tests/engine/program.h"

namespace uvmsim {
namespace {

// The plain system's costs outside the driver, for the closed forms below.
struct Costs {
  config::RuntimeCosts runtime = plain_system().runtime;
  std::int64_t launch = static_cast<std::int64_t>(runtime.launch_ns);
  std::int64_t start = static_cast<std::int64_t>(runtime.kernel_start_ns);
  std::int64_t synchronize = static_cast<std::int64_t>(runtime.synchronize_ns);
};

TEST(HostThread, AKernelWithoutMemoryTakesItsRecordedDuration) {
  const Costs c;
  Program program;
  program.kernel("k", 50000);
  program.sync();
  Watched watched;
  const RunResult result = program.run(options_with(0), &watched);
  const auto& k = watched.kernel("k");
  EXPECT_EQ(k.start.value, c.launch + c.start);
  EXPECT_EQ((k.end - k.start).value, 50000);
  EXPECT_EQ(result.total.value, c.launch + c.start + 50000 + c.synchronize);
  EXPECT_EQ(result.counters.kernels, 1u);
  EXPECT_EQ(result.counters.kernel_ns, 50000u);
  EXPECT_EQ(result.counters.kernel_compute_ns, 50000u);
}

TEST(HostThread, AResidentKernelTakesItsRecordedDuration) {
  Program program;
  const auto data = program.alloc(4 * kMiB);
  program.prefetch(data, 0);
  program.kernel("k", 50000, {data}, {data});
  program.sync();
  Watched watched;
  const RunResult result = program.run(options_with(2), &watched);
  EXPECT_EQ((watched.kernel("k").end - watched.kernel("k").start).value, 50000);
  EXPECT_EQ(result.counters.fault_batches, 0u);
  EXPECT_EQ(result.counters.gmmu.lookups, 2u * 1024u);  // every page once, read and write
}

TEST(HostThread, LaunchesRunAheadOfTheGpu) {
  const Costs c;
  Program program;
  for (int i = 0; i < 10; ++i) program.kernel("k" + std::to_string(i), 100000);
  program.sync();
  Watched watched;
  const RunResult result = program.run(options_with(0), &watched);
  ASSERT_EQ(watched.kernels.size(), 10u);
  for (std::size_t i = 1; i < 10; ++i) EXPECT_EQ(watched.kernels[i].start, watched.kernels[i - 1].end);
  // Only the first launch takes time before the kernels; the other launches happen while kernels run.
  EXPECT_EQ(result.total.value, c.launch + c.start + 10 * 100000 + c.synchronize);
}

TEST(HostThread, WithASyncAfterEachKernelTheHostIsOnTheWay) {
  const Costs c;
  Program program;
  for (int i = 0; i < 10; ++i) {
    program.kernel("k", 100000);
    program.sync();
  }
  const RunResult result = program.run(options_with(0));
  EXPECT_EQ(result.total.value, 10 * (c.launch + c.start + 100000 + c.synchronize));
}

TEST(HostThread, RecordedGapsCountUnlessLeftOut) {
  const Costs c;
  Program program;
  for (int i = 0; i < 3; ++i) {
    program.kernel("k", 1000).host_gap_ns = 200000;
    program.sync();
  }
  RunOptions options = options_with(0);
  const std::int64_t round = c.launch + c.start + 1000 + c.synchronize;
  EXPECT_EQ(program.run(options).total.value, 3 * (200000 + round));
  options.include_host_gaps = false;
  EXPECT_EQ(program.run(options).total.value, 3 * round);
}

TEST(HostThread, AGapOverlapsTheKernelBeforeIt) {
  const Costs c;
  Program program;
  program.kernel("first", 300000);
  program.kernel("second", 1000).host_gap_ns = 100000;  // ends before the first kernel ends
  Watched watched;
  program.run(options_with(0), &watched);
  EXPECT_EQ(watched.kernel("second").start, watched.kernel("first").end);
  EXPECT_EQ(watched.kernel("first").start.value, c.launch + c.start);
}

// The host touches a page that a running kernel still needs: its fault comes at the end of its gap, not when it is
// issued.
TEST(HostThread, WhatTheGpuDoesDuringAGapComesFirst) {
  Program program;
  const auto data = program.alloc(2 * kMiB);
  program.prefetch(data, 0);
  program.sync();
  program.kernel("short", 1000, {data});
  program.host(data, 0, 1, trace::AccessMode::kRead, /*gap_ns=*/500000);
  Watched watched;
  program.run(options_with(1), &watched);
  ASSERT_EQ(watched.cpu_faults.size(), 1u);
  EXPECT_GE(watched.cpu_faults[0].start, watched.kernel("short").end);
  EXPECT_GE((watched.cpu_faults[0].start - watched.kernel("short").start).value, 400000);
}

TEST(HostThread, TheLaunchQueueHolds1024Operations) {
  const Costs c;
  const auto last_start_with = [&](int kernels_before) {
    Program program;
    program.kernel("long", 100000000);
    for (int i = 0; i < kernels_before; ++i) program.kernel("short", 1000);
    const auto other = program.alloc(4096);  // its time shows when the host got here
    program.host(other);
    Watched watched;
    program.run(options_with(0), &watched);
    return watched.cpu_faults.at(0).start;
  };
  // All launches fit into the queue: the host reaches the end long before the first kernel ends.
  EXPECT_LT(last_start_with(1023).value, 10000000);
  // One more launch has to wait for a place in the queue.
  EXPECT_GE(last_start_with(1024).value, c.launch + c.start + 100000000);
}

TEST(HostThread, FreeingManagedMemoryWaitsForTheDevice) {
  Program program;
  const auto data = program.alloc(2 * kMiB);
  const auto other = program.alloc(2 * kMiB);
  program.kernel("other work", 700000);
  program.free(data);  // untouched by the kernel
  program.host(other, 0, 1, trace::AccessMode::kWrite);
  Watched watched;
  program.run(options_with(0), &watched);
  ASSERT_EQ(watched.cpu_faults.size(), 1u);
  EXPECT_GE(watched.cpu_faults[0].start, watched.kernel("other work").end);
}

TEST(HostThread, FreedPagesAreDroppedWithoutWriteBack) {
  Program program;
  const auto data = program.alloc(8 * kMiB);
  program.kernel("write", 10000, {}, {data});
  program.free(data);
  const auto again = program.alloc(8 * kMiB);
  program.kernel("write again", 10000, {}, {again});
  program.sync();
  const RunResult result = program.run(options_with(4));
  EXPECT_EQ(bytes_in(result.counters), 0u);
  EXPECT_EQ(bytes_out(result.counters), 0u);
  EXPECT_EQ(result.counters.evictions, 0u);
  EXPECT_EQ(result.counters.populated_pages, 2u * 2048u);
  EXPECT_EQ(result.footprint_bytes, 8 * kMiB);
}

TEST(HostThread, AllocationCallsCostWhatTheSystemSays) {
  RunOptions options = options_with(0);
  options.system.runtime.allocate_ns = 7000;
  options.system.runtime.allocate_ns_per_gib = 10240;
  options.system.runtime.free_ns = 900;
  options.system.runtime.free_untouched_ns_per_gib = 2048;
  options.system.runtime.free_touched_ns = 20000;
  options.system.runtime.free_ns_per_mib = 100;
  Program untouched;
  untouched.free(untouched.alloc(512 * kMiB));
  const RunResult result = untouched.run(options);
  EXPECT_EQ(result.counters.host_allocation_ns, 7000u + 5120u + 900u + 1024u);
  EXPECT_EQ(result.total.value, 7000 + 5120 + 900 + 1024);

  Program touched;
  const auto data = touched.alloc(64 * kMiB);
  touched.prefetch(data, 0);
  touched.free(data);
  EXPECT_EQ(touched.run(options).counters.host_allocation_ns, 7000u + 640u + 20000u + 62u * 100u);
}

// A free takes longer for pages of the host, even if a GPU holds their content now; memory that was populated on a GPU
// has none.
TEST(HostThread, FreeingPagesOfTheHostCostsMore) {
  RunOptions options = options_with(0);
  options.system.runtime.free_touched_ns = 20000;
  options.system.runtime.free_ns_per_mib = 100;
  const auto freed = [&](bool host, bool gpu) {
    Program kept, gone;
    for (Program* program : {&kept, &gone}) {
      const trace::ObjectId data = program->alloc(64 * kMiB);
      if (host) program->host(data);
      if (gpu) program->prefetch(data, 0);
      if (program == &gone) program->free(data);
    }
    return gone.run(options).counters.host_allocation_ns - kept.run(options).counters.host_allocation_ns;
  };
  const config::RuntimeCosts& costs = options.system.runtime;
  const std::uint64_t bare = 20000u + 62u * 100u, more = costs.free_host_ns + 31 * costs.free_host_block_ns;
  EXPECT_GT(more, 0u);
  EXPECT_EQ(freed(false, true), bare);
  EXPECT_EQ(freed(true, false), bare + more);
  EXPECT_EQ(freed(true, true), bare + more);
}

TEST(HostThread, IdealTimeIsTheProgramWithoutManagedMemory) {
  const Costs c;
  Program program;
  const auto data = program.alloc(32 * kMiB);
  program.host(data);
  program.kernel("a", 100000, {data});
  program.kernel("b", 100000, {data});
  program.sync();
  const RunResult result = program.run(options_with(4));
  EXPECT_EQ(result.ideal.value, c.launch + 200000);
  EXPECT_GT(result.total, result.ideal);
}

// The ideal time is taken at the marks of an iteration, in stream 0, and does not depend on the cost of faults in the
// real run.
TEST(HostThread, IdealTimeOfAnIterationIsThatBetweenItsMarks) {
  const Costs c;
  ASSERT_LT(c.launch, 40000);
  Program program;
  const auto mark = [&](trace::RangeKind kind, std::uint64_t index) { program.add(trace::Range{kind, "", index}); };
  const auto data = program.alloc(8 * kMiB);
  program.host(data);
  program.kernel("before", 30000);
  program.sync();
  mark(trace::RangeKind::kIterationBegin, 0);
  program.kernel("a", 100000, {data}).host_gap_ns = 5000;
  mark(trace::RangeKind::kIterationEnd, 0);
  mark(trace::RangeKind::kIterationBegin, 1);  // the host does not wait for the GPU
  program.kernel("b", 40000, {data}).host_gap_ns = 200000;
  program.kernel("of another stream", 900000, {}, {}, 1);
  mark(trace::RangeKind::kIterationEnd, 1);
  program.kernel("after", 7000);
  program.sync();

  const std::int64_t before = c.launch + 30000;
  const std::int64_t first = 5000 + c.launch + 100000;
  // The host starts when the first kernel does; its gap is longer than that kernel.
  const std::int64_t second = 200000 - 100000 + c.launch + 40000;
  // The end of the kernel of the other stream, which starts one launch after b.
  const std::int64_t after = 900000 + c.launch - 40000;
  for (const std::uint64_t chunks : {0u, 2u}) {
    SCOPED_TRACE(chunks);
    const RunResult result = program.run(options_with(chunks));
    ASSERT_EQ(result.iterations.size(), 2u);
    const IterationResult &one = result.iterations[0], &two = result.iterations[1];
    EXPECT_EQ(one.ideal.value, first);
    EXPECT_EQ(two.ideal.value, second);
    EXPECT_EQ(result.ideal.value, before + first + second + after);
    EXPECT_GT(one.end - one.begin, one.ideal);  // it faults
    // With enough memory the host's gap ends before these faults do.
    if (chunks == 0) {
      EXPECT_LT(two.end - two.begin, two.ideal);
    }
  }
}

}  // namespace
}  // namespace uvmsim
