// SPDX-License-Identifier: Apache-2.0
// GPU memory that a program takes in addition to managed memory: which pages are evicted for it, and when they can
// return.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/hosted_programs.h"
#include "tests/engine/program.h"
#include "tests/policy/message_of.h"

namespace uvmsim {
namespace {

using ::testing::HasSubstr;

constexpr trace::ObjectId kDeviceObject = 1000;  // and the numbers after it

void take(Program& program, std::uint64_t bytes, trace::ObjectId id = kDeviceObject) {
  program.add(trace::ObjectAlloc{id, trace::ObjectKind::kDevice, bytes, 0, 0});
}

void give_back(Program& program, trace::ObjectId id = kDeviceObject) { program.add(trace::ObjectFree{id}); }

void read_each(Program& program, std::uint64_t blocks) {
  for (std::uint64_t i = 0; i < blocks; ++i) program.kernel("read", 100'000, {i + 1});
  program.sync();
}

// Iterations that read `blocks` objects of one chunk each; in the first, once all are read, the program loads kernels.
Program training(std::uint64_t blocks, std::uint64_t loaded_bytes, std::uint64_t iterations) {
  Program program;
  for (std::uint64_t i = 0; i < blocks; ++i) program.host(program.alloc(kBlockBytes));
  for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
    program.add(trace::Range{trace::RangeKind::kIterationBegin, "", iteration});
    read_each(program, blocks);
    if (iteration == 0 && loaded_bytes != 0) take(program, loaded_bytes);
    program.add(trace::Range{trace::RangeKind::kIterationEnd, "", iteration});
  }
  return program;
}

class EvictorsUnderDeviceMemory : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(BuiltIn, EvictorsUnderDeviceMemory,
                         testing::Values("lrm", "lru", "fifo", "clock", "sieve", "arc", "s3_fifo", "sequential_local"),
                         [](const auto& info) { return info.param; });

TEST_P(EvictorsUnderDeviceMemory, WhatAProgramLoadsPushesOutAsManyChunks) {
  constexpr std::uint64_t kChunks = 100, kLoaded = 150 * kMiB / kBlockBytes;  // 75
  RunOptions options = options_with(kChunks);
  options.evict.name = GetParam();
  Watched watched;
  const RunResult result = training(kChunks, 150 * kMiB, 1).run(options, &watched);
  const std::uint64_t evicted_bytes = result.counters.dtoh_evict_bytes;
  EXPECT_EQ(evicted_bytes, kLoaded * kBlockBytes) << "all was there, and so many chunks had to go";
  EXPECT_EQ(result.unmanaged_bytes, 150 * kMiB);
  EXPECT_EQ(result.capacity_bytes, kChunks * kBlockBytes);
  EXPECT_EQ(watched.resident_bytes, (kChunks - kLoaded) * kBlockBytes);
}

TEST(DeviceMemory, ACyclicProgramThatJustFittedMissesFromThenOn) {
  constexpr std::uint64_t kChunks = 16, kLoaded = 4, kIterations = 5;
  RunOptions options = options_with(kChunks);
  options.evict.name = "lru";
  const Counters fits = training(kChunks, 0, kIterations).run(options).counters;
  EXPECT_EQ(fits.evictions, 0u);
  const RunResult result = training(kChunks, kLoaded * kBlockBytes, kIterations).run(options);
  // The first iteration ends with four chunks fewer; a cyclic scan of more than fits then always misses.
  EXPECT_EQ(result.counters.evictions, kLoaded + (kIterations - 1) * kChunks);
}

TEST(DeviceMemory, LessThanAChunkTakesOneAndTwoShareIt) {
  for (const std::uint64_t bytes : {std::uint64_t{1}, kMiB, 2 * kMiB}) {
    Program program = training(4, bytes, 1);
    EXPECT_EQ(program.run(options_with(4)).counters.evictions, 1u) << bytes;
    take(program, kMiB, kDeviceObject + 1);
    EXPECT_EQ(program.run(options_with(4)).counters.evictions, bytes <= kMiB ? 1u : 2u) << bytes;
  }
}

TEST(DeviceMemory, WhatIsFreedHoldsManagedMemoryAgain) {
  Program program;
  for (int i = 0; i < 4; ++i) program.host(program.alloc(kBlockBytes));
  take(program, 2 * kBlockBytes);
  read_each(program, 2);
  give_back(program);
  read_each(program, 4);
  EXPECT_EQ(program.run(options_with(4)).counters.evictions, 0u);
}

TEST(DeviceMemory, BesideTheCapacityItTakesNothing) {
  RunOptions options = options_with(16);
  options.system.runtime.device_memory_beside = true;
  const RunResult result = training(16, 150 * kMiB, 3).run(options);
  EXPECT_EQ(result.counters.evictions, 0u);
  EXPECT_EQ(result.unmanaged_bytes, 150 * kMiB);
}

TEST(DeviceMemory, TheProgramWaitsForWhatMustGo) {
  constexpr std::uint64_t kChunks = 16;
  const Nanoseconds without = training(kChunks, 0, 1).run(options_with(kChunks)).total;
  const Nanoseconds with = training(kChunks, 8 * kBlockBytes, 1).run(options_with(kChunks)).total;
  const auto copies = static_cast<std::int64_t>(8 * kBlockBytes / 10);  // ns at 10 GB/s
  EXPECT_GE((with - without).value, copies);
}

TEST(DeviceMemory, MoreThanTheGpuHasIsRefused) {
  for (const std::uint64_t chunks : {std::uint64_t{4}, std::uint64_t{40}}) {
    const std::string message = message_of([&] { training(2, chunks * kBlockBytes, 1).run(options_with(4)); });
    EXPECT_THAT(message, HasSubstr("managed memory needs at least one chunk of 2 MiB of the 8388608 bytes of both"));
  }
  EXPECT_EQ(training(2, 3 * kBlockBytes, 1).run(options_with(4)).unmanaged_bytes, 3 * kBlockBytes);
}

// Each of two programs leaves room for the other's managed memory, but both together leave none.
TEST(DeviceMemory, ProgramsThatTakeAllOfASharedGpuAreTold) {
  Program first, second;
  take(first, 2 * kBlockBytes);
  first.sync();
  take(second, 2 * kBlockBytes);
  second.host(second.alloc(kBlockBytes));
  second.kernel("read", 10'000'000, {1});
  second.sync();
  const RunOptions options = options_on(server(1), 4);
  EXPECT_THAT(
      complaint_of({hosted("first", first, options, {0}), hosted("second", second, options, {0})}),
      HasSubstr("nothing can be evicted for managed memory; of 4 chunks of 2 MiB programs hold 4 as device memory"));
}

TEST(DeviceMemory, ADeviceThatTheProgramHasNotIsRefused) {
  Program program;
  program.add(trace::ObjectAlloc{kDeviceObject, trace::ObjectKind::kDevice, kMiB, 0, 7});
  EXPECT_THAT(message_of([&] { program.run(options_with(4)); }), HasSubstr("device memory of device 7"));
}

}  // namespace
}  // namespace uvmsim
