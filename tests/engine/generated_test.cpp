// SPDX-License-Identifier: Apache-2.0
// Generated programs against the closed forms in sim/generate/generate.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/generate/generate.h"
#include "tests/engine/program.h"

namespace uvmsim {
namespace {

RunResult run(const trace::GeneratorOptions& generator, const RunOptions& options) {
  const auto program = trace::make_program(generator);
  return simulate(
      program->header(), [&](trace::Record& record) { return program->next(record); }, options);
}

// Allows a few percent: when a block is evicted, a front of thread blocks, not a single page, is at the block's edge.
void expect_about(std::uint64_t value, std::uint64_t expected) {
  EXPECT_GE(value, expected);
  EXPECT_LE(value, expected + expected / 20);
}

TEST(Generated, AScanRepeatedInsideAKernelMovesItsSetOnceWhenItFits) {
  trace::GeneratorOptions generator;
  generator.pattern = "repeated_scan";
  generator.bytes = 32 * kMiB;
  generator.scans = 6;
  const Counters c = run(generator, options_with(16)).counters;
  EXPECT_EQ(bytes_in(c), 32 * kMiB);
  EXPECT_EQ(bytes_out(c), 0u);
  EXPECT_EQ(c.evictions, 0u);
}

TEST(Generated, AScanRepeatedInsideAKernelMovesItsSetEveryTimeWhenItDoesNot) {
  trace::GeneratorOptions generator;
  generator.pattern = "repeated_scan";
  generator.bytes = 32 * kMiB;
  for (const std::uint64_t scans : {1u, 3u, 6u}) {
    generator.scans = scans;
    const Counters c = run(generator, options_with(12)).counters;
    expect_about(bytes_in(c), scans * 32 * kMiB);
    EXPECT_EQ(bytes_out(c), c.evictions * kBlockBytes);
    EXPECT_EQ(bytes_in(c) - bytes_out(c), 12 * kBlockBytes);  // dropped by the free at the end
  }
}

TEST(Generated, ATiledProductThatFitsMovesItsInputsOnce) {
  trace::GeneratorOptions generator;
  generator.pattern = "tiled_matmul";
  generator.bytes = 48 * kMiB;  // three matrices of 2048 x 2048 floats, 16 MiB each
  generator.tile = 256;         // eight phases
  const Counters c = run(generator, options_with(24)).counters;
  EXPECT_EQ(bytes_in(c), 3 * 16 * kMiB);  // the host also has the output, which migrates at its first store
  EXPECT_EQ(c.evictions, 0u);
}

// One thread block runs at a time, so that a phase really walks through B, and nothing is prefetched, so that the row
// of A and the tiles of C are always the latest that migrated. The driver's order is then LRU and the closed form
// exact.
TEST(Generated, ATiledProductWhoseSecondOperandDoesNotFitMovesItForEveryRow) {
  trace::GeneratorOptions generator;
  generator.pattern = "tiled_matmul";
  generator.bytes = 48 * kMiB;
  generator.tile = 256;
  RunOptions options = options_with(6);  // a row of A, one of C, and 8 MiB for B's 16
  options.system.gpus[0].sm_count = 1;
  options.system.gpus[0].max_blocks_per_sm = 1;
  options.prefetch.name = "none";
  const Counters c = run(generator, options).counters;
  EXPECT_EQ(bytes_in(c), (1 + 8 + 1) * 16 * kMiB);
  EXPECT_EQ(bytes_in(c) - bytes_out(c), 6 * kBlockBytes);
  EXPECT_EQ(c.evictions, (1 + 8 + 1) * 8u - 6u);
}

// All blocks of a phase run at once: their front spans all of B, and the data that they share do not stay resident.
TEST(Generated, AFrontWiderThanMemoryMovesMoreThanItsSet) {
  trace::GeneratorOptions generator;
  generator.pattern = "tiled_matmul";
  generator.bytes = 48 * kMiB;
  generator.tile = 256;
  EXPECT_GT(bytes_in(run(generator, options_with(6)).counters), (1 + 8 + 1) * 16 * kMiB);
}

trace::GeneratorOptions product(const std::string& pattern) {
  trace::GeneratorOptions generator;
  generator.pattern = pattern;
  generator.bytes = 24 * kMiB;  // three matrices of 1024 x 1024 floats, 4 MiB each, 2 MiB aligned
  generator.block = 1024;       // 32 rows of 32 thread blocks
  return generator;
}

TEST(Generated, AProductOfAThreadPerElementMovesItsMatricesOnceWhenTheyFit) {
  for (const char* pattern : {"product_per_thread", "product_tiled"}) {
    const Counters c = run(product(pattern), options_with(8)).counters;
    EXPECT_EQ(bytes_in(c), 3 * 4 * kMiB) << pattern;
    EXPECT_EQ(c.evictions, 0u) << pattern;
  }
}

// Every thread block walks through all rows of B, and those that run at the same time do so together. With one chunk
// for each matrix, B has no room.
TEST(Generated, AProductOfAThreadPerElementMovesItsSecondMatrixForTheBlocksThatRunTogether) {
  for (const char* pattern : {"product_per_thread", "product_tiled"}) {
    for (const std::uint32_t at_a_time : {32u, 64u, 128u}) {
      RunOptions options = options_with(3);
      options.system.gpus[0].max_blocks_per_sm = 1;
      options.system.gpus[0].sm_count = at_a_time;
      SCOPED_TRACE(fmt::format("{}, {} thread blocks at a time", pattern, at_a_time));
      expect_about(bytes_in(run(product(pattern), options).counters), (1 + 32 * 32 / at_a_time + 1) * 4 * kMiB);
    }
  }
}

TEST(Generated, ASequentialScanInKernelsMissesEverythingWhenItDoesNotFit) {
  trace::GeneratorOptions generator;
  generator.pattern = "sequential";
  generator.bytes = 32 * kMiB;
  generator.kernels = 16;  // a block each
  generator.repeats = 3;
  RunOptions options = options_with(10);
  EXPECT_EQ(bytes_in(run(generator, options).counters), 3 * 32 * kMiB);
  EXPECT_EQ(bytes_in(run(generator, options_with(16)).counters), 32 * kMiB);
}

// N misses first, then N - C in every repeat.
TEST(Generated, AZigzagKeepsWhatItTouchedLast) {
  trace::GeneratorOptions generator;
  generator.pattern = "zigzag";
  generator.bytes = 32 * kMiB;
  generator.kernels = 16;
  generator.repeats = 5;
  RunOptions options = options_with(10);
  options.evict.name = "lru";
  EXPECT_EQ(bytes_in(run(generator, options).counters), (16 + 4 * (16 - 10)) * kBlockBytes);
}

TEST(Generated, IterationsAreReportedApart) {
  trace::GeneratorOptions generator;
  generator.pattern = "sequential";
  generator.bytes = 16 * kMiB;
  generator.repeats = 3;
  const RunResult result = run(generator, options_with(8));
  ASSERT_EQ(result.iterations.size(), 3u);
  EXPECT_EQ(bytes_in(result.iterations[0].counters), 16 * kMiB);
  EXPECT_EQ(bytes_in(result.iterations[1].counters), 0u);
  EXPECT_EQ(result.iterations[2].counters.kernels, 1u);
  EXPECT_GT(result.iterations[0].end - result.iterations[0].begin,
            result.iterations[1].end - result.iterations[1].begin);
  EXPECT_LE(result.iterations[0].end, result.iterations[1].begin);
}

TEST(Generated, AChaseWithoutPrefetchingHasOneFaultPerStop) {
  trace::GeneratorOptions generator;
  generator.pattern = "pointer_chase";
  generator.bytes = 16 * kMiB;
  generator.stride_bytes = 65536;
  RunOptions options = options_with(0);
  options.prefetch.name = "none";
  const Counters c = run(generator, options).counters;
  EXPECT_EQ(c.faulting_pages, 256u);
  EXPECT_EQ(c.fault_batches, 256u);
  EXPECT_EQ(bytes_in(c), 256 * kPage);
}

TEST(Generated, EveryPatternRunsInTwoChunks) {
  for (const trace::GeneratorPattern& pattern : trace::generator_patterns()) {
    SCOPED_TRACE(pattern.name);
    trace::GeneratorOptions generator;
    generator.pattern = pattern.name;
    generator.bytes = 12 * kMiB;
    generator.touches = 300;
    generator.write_percent = 40;
    generator.repeats = 2;
    if (pattern.name.starts_with("product")) generator.block = 1024;  // fewer rows of thread blocks
    RunOptions options = options_with(2);
    const std::size_t gpus = pattern.name == "pipeline" ? generator.gpus : 1;
    options.system.gpus.resize(gpus, options.system.gpus.front());
    options.system.host_links.resize(gpus, options.system.host_links.front());
    const RunResult result = run(generator, options);
    EXPECT_EQ(result.capacity_bytes, 2 * kBlockBytes);
    EXPECT_GT(result.counters.faulting_pages, 0u);
    EXPECT_EQ(result.iterations.size(), 2u);
  }
}

}  // namespace
}  // namespace uvmsim
