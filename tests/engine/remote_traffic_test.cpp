// SPDX-License-Identifier: Apache-2.0
// Kernels that access host memory in place: the bytes over the link, and their cost.
#include "sim/engine/access_costs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "sim/config/load_system.h"
#include "sim/engine/remote_use.h"
#include "sim/link/remote_lane.h"
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

// 1000 rows of 512 bytes at 10000 bytes per us, each in a separate page.
TEST_F(InPlace, RowsPayTheirBytesNotTheirPages) {
  std::vector<trace::Extent> rows;
  for (std::uint64_t i = 0; i < 1000; ++i) rows.push_back({i * 8, 1, AccessMode::kRead});
  kernel(rows);
  const RunResult result = run();
  EXPECT_EQ(result.counters.remote_access_bytes, 1000 * kQuantum);
  EXPECT_EQ(result.counters.kernel_ns, 1000 * kQuantum / 10);  // the kernel computes meanwhile
  EXPECT_EQ(result.counters.raw_faults, 0u);
}

TEST_F(InPlace, SmallPiecesPayAtLeastTheirTurn) {
  options.system.runtime.remote_runs_per_us = 10;  // 100 ns each, more than 51.2 for the bytes
  std::vector<trace::Extent> rows;
  for (std::uint64_t i = 0; i < 1000; ++i) rows.push_back({i * 8, 1, AccessMode::kRead});
  kernel(rows);
  EXPECT_EQ(run().counters.kernel_ns, 100000u);
}

// Reads and writes use separate directions, unless the link says that they share bandwidth.
TEST_F(InPlace, UpdatesGoBothWays) {
  kernel({{0, 1000, AccessMode::kReadWrite}});
  RunResult result = run();
  EXPECT_EQ(result.counters.remote_access_bytes, 2000 * kQuantum);
  EXPECT_EQ(result.counters.kernel_ns, 1000 * kQuantum / 10);
  options.system.runtime.remote_both_ways_bytes_per_us = 10000;
  EXPECT_EQ(run().counters.kernel_ns, 2000 * kQuantum / 10);
}

// A kernel that computes longer than its data take to arrive is not slowed down.
TEST_F(InPlace, ComputingHidesLoading) {
  kernel({{0, 10, AccessMode::kRead}});
  EXPECT_EQ(run().counters.kernel_ns, 1000u);
}

// Two warps of 32 threads with 16 outstanding bytes each fetch 1024 bytes per latency of 2 us, and also wait a little
// for the link, which takes 5120 ns.
TEST_F(InPlace, FewWarpsWaitForTheLatency) {
  options.system.runtime.remote_latency_ns = 2000;
  kernel({{0, 100, AccessMode::kRead}}).block.x = 64;
  EXPECT_EQ(run().counters.kernel_ns, 100000u + 5120u * 5120 / 400000);
}

// Every touch counts again: host memory does not stay in the GPU's caches.
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

// The link traffic of an M x K by K x N product of 4-byte elements, all remote.
class RemoteProduct : public ::testing::Test {
 protected:
  trace::ObjectId in_place(std::uint64_t bytes) {
    const trace::ObjectId id = program.alloc(bytes);
    program.prefetch(id, -1);
    program.sync();
    program.advise(id, Advice::kSetPreferredLocation, -1);
    program.advise(id, Advice::kSetAccessedBy, 0);
    return id;
  }
  trace::Kernel& product(std::string name, std::uint32_t x, std::uint32_t y, std::uint64_t matrix_bytes) {
    const trace::ObjectId a = in_place(matrix_bytes), b = in_place(matrix_bytes), c = in_place(matrix_bytes);
    trace::Kernel& kernel = program.kernel(std::move(name), 1000, {}, {});
    kernel.distribution = trace::Distribution::kTiled;
    kernel.grid = {x, y, 1};
    const std::uint64_t pages = matrix_bytes / kBasePageBytes;
    kernel.accesses = {{a, {{0, pages, AccessMode::kRead}}},
                       {b, {{0, pages, AccessMode::kRead}}},
                       {c, {{0, pages, AccessMode::kWrite}}}};
    return kernel;
  }
  Counters run() const { return simulate(Program::header(), program.source(), options).counters; }

  Program program;
  RunOptions options = options_with(0);
};

// 16 x 16 tiles of 2048 x 2048: each input is read 16 times, the output is written once.
TEST_F(RemoteProduct, BringsItsInputsOncePerTile) {
  constexpr std::uint64_t kBytes = std::uint64_t{2048} * 2048 * 4;
  product("sgemm_tn_tilesize128x128x8_stage3", 16, 16, kBytes);
  const Counters counters = run();
  EXPECT_EQ(counters.remote_access_bytes, (16 + 16 + 1) * kBytes);
  EXPECT_GE(counters.remote_access_bytes, 10 * 2 * kBytes);
  EXPECT_EQ(counters.kernel_ns, (16 + 16 + 1) * kBytes / 10);  // its output after its inputs
}

// 8 elements of 4 bytes are one sector.
TEST_F(RemoteProduct, AsksForAsMuchOfARowAsItsTileTakesAtOnce) {
  constexpr std::uint64_t kBytes = std::uint64_t{2048} * 2048 * 4;
  options.system.runtime.remote_requests_per_us = 100;  // 10 ns each, 3.2 for the bytes
  product("sgemm_tn_tilesize128x128x8_stage3", 16, 16, kBytes);
  EXPECT_EQ(run().kernel_ns, 32 * kBytes / 32 * 10 + kBytes / 10);
}

// 2 x 2 tiles: the inputs are read twice, the output is stored once.
TEST_F(RemoteProduct, AccessCountersSeeWhatComes) {
  constexpr std::uint64_t kBytes = std::uint64_t{256} * 256 * 4;
  options.system.driver.access_counter_migration = true;
  const auto notifications = [&](std::uint32_t threshold) {
    options.system.driver.access_counter_threshold = threshold;
    program = Program();
    product("sgemm_tn_tilesize128x128x8_stage3", 2, 2, kBytes);
    return run().access_counter_notifications;
  };
  constexpr std::uint32_t kOnce = kBytes / link::kLineBytes;
  EXPECT_EQ(notifications(kOnce), 3u);
  EXPECT_EQ(notifications(2 * kOnce), 2u);
  EXPECT_EQ(notifications(2 * kOnce + 1), 0u);
}

using engine::AccessedBytes;
using engine::RemoteUse;

std::vector<RemoteUse> uses_of(const char* name, trace::Dim3 grid, std::vector<AccessedBytes> accessed,
                               trace::Distribution distribution = trace::Distribution::kTiled) {
  trace::Kernel kernel;
  kernel.name = name;
  kernel.grid = grid;
  kernel.block = {64, 1, 1};
  kernel.distribution = distribution;
  kernel.accesses.resize(accessed.size());
  return engine::remote_use(kernel, accessed, 0, config::load_system("h200-sxm-pcie5").gpus.front());
}

// 4 x 8 tiles of 256 x 128 for 1024 x 1024; a cluster of two columns shares its rows.
TEST(RemoteUse, ClustersShareWhatTheyReceive) {
  constexpr std::uint64_t kBytes = 1024 * 1024 * 2;
  const auto uses =
      uses_of("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", {132, 1, 1}, {{kBytes, 0}, {kBytes, 0}, {0, kBytes}});
  EXPECT_EQ(uses[0].times_thousandths, 4000u);
  EXPECT_EQ(uses[1].times_thousandths, 4000u);
}

// The gradient of 512 x 128 weights from 32 images with 512 and 128 channels.
TEST(RemoteUse, GradientsOfWeightsAddUpByAtomics) {
  const auto uses = uses_of("void wgrad_alg0_engine<float, 128, 5>", {4, 16, 256},
                            {{134217728 / 2, 0}, {134217728 * 2, 0}, {0, 512 * 128 * 4}});
  EXPECT_EQ(uses[0].times_thousandths, 8000u);  // half of it is in the L1
  EXPECT_EQ(uses[1].times_thousandths, 2000u);
  EXPECT_EQ(uses[0].request_bytes, 32u);
  EXPECT_EQ(uses[2].word_times_thousandths, 256000u);
  EXPECT_TRUE(uses[2].atomics);
}

// A 3 x 3 window reads its image at nine positions: 512 of 512 channels, 16 x 16 pixels of 32 images.
TEST(RemoteUse, GradientsOfWeightsReadUnderTheWholeWindow) {
  constexpr std::uint64_t kImage = std::uint64_t{512} * 16 * 16 * 32 * 4;
  const auto uses = uses_of("sm80_xmma_wgrad_implicit_gemm_indexed_nhwckrsc_nhwc_tilesize32x32x8", {144, 16, 1},
                            {{kImage, 0}, {kImage, 0}, {0, 512 * 512 * 9 * 4}});
  EXPECT_EQ(uses[0].times_thousandths + uses[1].times_thousandths, 144000u + 16 * 9000);
}

// 512 channels of 16 x 16 pixels of 32 images, from 2048.
TEST(RemoteUse, GradientsOfImagesAreStoredWordByWord) {
  constexpr std::uint64_t kImage = std::uint64_t{512} * 16 * 16 * 32 * 4;
  const auto uses = uses_of("void cudnn::detail::dgrad_engine<float, 512, 6, 5>", {8, 8, 32},
                            {{4 * kImage, 0}, {512 * 2048 * 4, 0}, {0, kImage}});
  EXPECT_EQ(uses[0].times_thousandths, 6000u);
  EXPECT_EQ(uses[1].times_thousandths, 192000u);
  EXPECT_EQ(uses[2].word_times_thousandths, 1000u);
}

TEST(RemoteUse, EverythingElseComesOnce) {
  const auto uses = uses_of("vectorized_elementwise_kernel", {1000, 1, 1}, {{1 << 20, 0}, {0, 1 << 20}},
                            trace::Distribution::kBlockLinear);
  EXPECT_TRUE(uses[0].plain() && uses[1].plain());
}

// Bandwidths of reads in launches of all sizes agree with the measured ones.
TEST(RemoteUse, BandwidthByLaunchIsThatMeasured) {
  const config::SystemConfig system = config::load_system("h200-sxm-pcie5");
  std::ifstream file(UVMSIM_SOURCE_DIR "/configs/measurements/remote_stream_h200.txt");
  int compared = 0, within = 0;
  for (std::string line; std::getline(file, line);) {
    unsigned grid = 0, block = 0;
    double wide = 0, narrow = 0;
    if (std::sscanf(line.c_str(), "grid %u block %u GB/s: read float4 %lf float %lf", &grid, &block, &wide, &narrow) !=
        4) {
      continue;
    }
    for (const auto& [bytes, measured] : {std::pair(16u, wide), std::pair(4u, narrow)}) {
      Program launches;
      const trace::ObjectId data = launches.alloc(32 * kMiB);
      launches.prefetch(data, -1);
      launches.sync();
      launches.advise(data, Advice::kSetPreferredLocation, -1);
      launches.advise(data, Advice::kSetAccessedBy, 0);
      trace::Kernel& kernel = launches.kernel("stream", 1000, {}, {});
      kernel.accesses = {{data, {{0, 32 * kMiB / kBasePageBytes, AccessMode::kRead}}}};
      kernel.grid.x = grid;
      kernel.block.x = block;
      kernel.bytes_per_thread_access = bytes;
      RunOptions options = options_with(0);
      options.system = system;
      const RunResult result = simulate(Program::header(), launches.source(), options);
      const double model = 32.0 * kMiB / static_cast<double>(result.counters.kernel_ns);
      fmt::print("grid {} block {}, {} bytes: {:.2f} GB/s measured, {:.2f} simulated\n", grid, block, bytes, measured,
                 model);
      EXPECT_NEAR(model / measured, 1, 0.18) << line;
      ++compared;
      within += std::abs(model / measured - 1) <= 0.1 ? 1 : 0;
    }
  }
  EXPECT_EQ(compared, 42);
  EXPECT_GE(within, 34);  // of the others, most use nearly all of the link
}

}  // namespace
}  // namespace uvmsim
