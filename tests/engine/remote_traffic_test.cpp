// SPDX-License-Identifier: Apache-2.0
// Kernels that access host memory in place: what comes over the link, and what it costs.
#include "sim/engine/access_costs.h"

#include <gtest/gtest.h>

#include "tests/engine/program.h"

namespace uvmsim {
namespace {

using trace::AccessMode;
using trace::Advice;

constexpr std::uint64_t kQuantum = 512;

// One object of 8 MB on the host, mapped by the GPU; accesses count in quanta of 512 bytes.
class InPlace : public ::testing::Test {
 protected:
  void SetUp() override {
    data = program.alloc(8 * kMiB);
    program.prefetch(data, -1);
    program.sync();
    program.advise(data, Advice::kSetPreferredLocation, -1);
    program.advise(data, Advice::kSetAccessedBy, 0);
  }
  trace::Kernel& kernel(std::vector<trace::Extent> extents, std::uint32_t stream = 0) {
    trace::Kernel& added = program.kernel("rows", 1000, {}, {}, stream);
    added.accesses = {{data, std::move(extents)}};
    return added;
  }
  RunResult run() const {
    trace::Header header = Program::header();
    header.quantum_bytes = kQuantum;
    return simulate(header, program.source(), options);
  }

  Program program;
  RunOptions options = options_with(0);
  trace::ObjectId data = 0;
};

// 1000 rows of 512 bytes at 10000 bytes per us, each in a page of its own.
TEST_F(InPlace, RowsPayTheirBytesNotTheirPages) {
  std::vector<trace::Extent> rows;
  for (std::uint64_t i = 0; i < 1000; ++i) rows.push_back({i * 8, 1, AccessMode::kRead});
  kernel(rows);
  const RunResult result = run();
  EXPECT_EQ(result.counters.remote_access_bytes, 1000 * kQuantum);
  EXPECT_EQ(result.counters.kernel_ns, 1000u + 1000 * kQuantum / 10);
  EXPECT_EQ(result.counters.raw_faults, 0u);
}

TEST_F(InPlace, SmallPiecesPayAtLeastTheirTurn) {
  options.system.runtime.remote_runs_per_us = 10;  // 100 ns each, more than 51.2 for the bytes
  std::vector<trace::Extent> rows;
  for (std::uint64_t i = 0; i < 1000; ++i) rows.push_back({i * 8, 1, AccessMode::kRead});
  kernel(rows);
  EXPECT_EQ(run().counters.kernel_ns, 1000u + 100000);
}

// Reads and writes have a direction each, unless the link says that they share.
TEST_F(InPlace, UpdatesGoBothWays) {
  kernel({{0, 1000, AccessMode::kReadWrite}});
  RunResult result = run();
  EXPECT_EQ(result.counters.remote_access_bytes, 2000 * kQuantum);
  EXPECT_EQ(result.counters.kernel_ns, 1000u + 1000 * kQuantum / 10);
  options.system.runtime.remote_both_ways_bytes_per_us = 10000;
  EXPECT_EQ(run().counters.kernel_ns, 1000u + 2000 * kQuantum / 10);
}

// Every touch again: host memory does not stay in the GPU's caches.
TEST_F(InPlace, TouchesCountEach) {
  trace::Kernel& touched = kernel({{0, 2, AccessMode::kRead}});
  touched.distribution = trace::Distribution::kThreadChunk;
  touched.grid.x = 100;
  touched.block.x = 1;
  touched.bytes_per_thread_access = 500;  // in sectors of 32: 512
  for (int i = 0; i < 100; ++i) touched.touches.push_back({0, static_cast<std::uint64_t>(i % 2), AccessMode::kRead});
  EXPECT_EQ(run().counters.remote_access_bytes, 100 * 512u);
}

TEST_F(InPlace, KernelsAtTheSameTimeShareTheLink) {
  kernel({{0, 1000, AccessMode::kRead}}, 1);
  kernel({{0, 1000, AccessMode::kRead}}, 2);
  program.sync();
  Watched watched;
  trace::Header header = Program::header();
  header.quantum_bytes = kQuantum;
  RunObserver observer;
  observer.events = &watched;
  simulate(header, program.source(), options, observer);
  ASSERT_EQ(watched.kernels.size(), 2u);
  EXPECT_GE((watched.kernels[1].end - watched.kernels[0].end).value,
            1000 * static_cast<std::int64_t>(kQuantum) / 10 - 5000);
}

// Extents that end in the middle of pages, over the edge of a block.
TEST_F(InPlace, ExtentsCountTheirOwnBytes) {
  kernel({{3, 2, AccessMode::kRead}, {4090, 20, AccessMode::kWrite}, {5000, 1, AccessMode::kRead}});
  EXPECT_EQ(run().counters.remote_access_bytes, 23 * kQuantum);
}

}  // namespace
}  // namespace uvmsim
