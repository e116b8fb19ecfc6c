// SPDX-License-Identifier: Apache-2.0
// The GPU memory that a process takes besides its allocations, from the log of the memory pass to the trace.
#include "tracer/merge/unmanaged_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "sim/trace/limits.h"
#include "tests/tracer/merge/log_builder.h"

namespace uvmtrace::unmanaged_memory_test {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

class UnmanagedMemoryTest : public ::testing::Test {
 protected:
  void iteration(std::uint64_t index, bool begin = true) {
    log.add(std::move(log.host("iteration").number("index", index).boolean("begin", begin)));
  }
  UnmanagedMemory read() { return unmanaged_memory(read_log(log.text(), "memory", Pass::kMemory)); }
  // "iteration:device:MiB", separated by blanks.
  std::string levels() {
    std::string out;
    for (const UnmanagedMemory::Level& level : read().levels) {
      out += (out.empty() ? "" : " ") + std::to_string(level.iteration) + ":" + std::to_string(level.device) + ":" +
             std::to_string(level.bytes / kMiB);
    }
    return out;
  }
  // Returns the records of a trace of these iterations: "i0" for a mark, "+id:MiB" and "-id" for memory.
  std::string put_into(const std::vector<std::uint64_t>& iterations) {
    std::vector<trace::Record> records = {trace::ObjectAlloc{7, trace::ObjectKind::kManaged, 4096, 0, 0}};
    for (const std::uint64_t index : iterations) {
      records.emplace_back(trace::Range{trace::RangeKind::kIterationBegin, {}, index});
    }
    add_unmanaged_memory(read(), records);
    std::string out;
    for (const trace::Record& record : records) {
      if (const auto* object = std::get_if<trace::ObjectAlloc>(&record)) {
        if (object->id == 7) continue;
        EXPECT_EQ(object->kind, trace::ObjectKind::kDevice);
        out += " +" + std::to_string(object->id) + ":" + std::to_string(object->bytes / kMiB);
      } else if (const auto* freed = std::get_if<trace::ObjectFree>(&record)) {
        out += " -" + std::to_string(freed->id);
      } else {
        out += " i" + std::to_string(std::get<trace::Range>(record).index);
      }
    }
    return out;
  }

  LogBuilder log{Pass::kMemory};
};

TEST_F(UnmanagedMemoryTest, MostOfEachIteration) {
  log.taken(90 * kMiB, "cuLaunchKernel");
  iteration(0);
  log.taken(6000 * kMiB, "cuMemAlloc_v2", true);
  log.taken(20 * kMiB, "cuStreamCreate");
  log.taken(-2 * kMiB, "cuLaunchKernel");
  iteration(1);
  iteration(2);
  log.taken(4 * kMiB, "cuLaunchKernel");
  iteration(2, false);
  log.taken(500 * kMiB, "cuModuleLoadData");
  EXPECT_EQ(levels(), "0:0:110 1:0:108 2:0:112");
  EXPECT_EQ(read().text(), "112.0 MiB: cuLaunchKernel 92.0, cuStreamCreate 20.0");
  EXPECT_EQ(put_into({0, 1, 2}), " i0 +8:110 i1 -8 +9:108 i2 +10:4");
  // A trace that begins later has the memory that is taken by then.
  EXPECT_EQ(put_into({2}), " i2 +8:110 -8 +9:108 +10:4");
}

TEST_F(UnmanagedMemoryTest, AnIterationWithoutAnEndGoesOnToTheEnd) {
  iteration(5);
  log.taken(8 * kMiB, "cuLaunchKernel");
  EXPECT_EQ(levels(), "5:0:8");
}

TEST_F(UnmanagedMemoryTest, WithoutIterationsItIsThereFromTheBegin) {
  log.taken(8 * kMiB, "cuLaunchKernel");
  log.taken(-8 * kMiB, "cuLibraryUnload");
  EXPECT_EQ(levels(), "0:0:8");
  EXPECT_EQ(put_into({}), " +8:8");
}

TEST_F(UnmanagedMemoryTest, NothingTakenAddsNothing) {
  log.taken(8 * kMiB, "cuMemAlloc_v2", true);
  EXPECT_EQ(levels(), "");
  EXPECT_EQ(put_into({0}), " i0");
  EXPECT_EQ(read().text(), "0.0 MiB");
}

TEST_F(UnmanagedMemoryTest, WithoutAReadingNothingIsKnown) {
  std::string text = log.text();
  text.erase(text.find(R"({"t":"free_memory")"), text.find(R"({"t":"end")") - text.find(R"({"t":"free_memory")"));
  EXPECT_EQ(unmanaged_memory(read_log(text, "memory", Pass::kMemory)).text(),
            "not known: free memory of the GPU could not be read");
}

TEST_F(UnmanagedMemoryTest, GpusAddUp) {
  log.taken(8 * kMiB, "cuLaunchKernel");
  log.taken(3 * kMiB, "cuLaunchKernel", false, 1);
  EXPECT_EQ(levels(), "0:0:8 0:1:3");
  EXPECT_EQ(read().text(), "11.0 MiB: cuLaunchKernel 11.0");
}

TEST_F(UnmanagedMemoryTest, WhatNoCallTookIsSaid) {
  log.taken(8 * kMiB, "cuLaunchKernel");
  log.taken(3 * kMiB, "");
  EXPECT_EQ(read().text(), "11.0 MiB: cuLaunchKernel 8.0, while no call ran 3.0");
}

TEST_F(UnmanagedMemoryTest, MoreThanAGpuCanHaveIsRefused) {
  for (int i = 0; i < 2; ++i) log.taken(static_cast<std::int64_t>(trace::kMaxObjectBytes), "cuLaunchKernel");
  EXPECT_THROW(read(), uvmsim::InputError);
}

TEST_F(UnmanagedMemoryTest, ManagedMemoryMakesItUnknown) {
  log.alloc(0x7f0000000000, 4096, "managed");
  log.taken(8 * kMiB, "cuLaunchKernel");
  EXPECT_EQ(levels(), "");
  EXPECT_THAT(read().text(), ::testing::StartsWith("not known: the program has managed memory"));
}

}  // namespace
}  // namespace uvmtrace::unmanaged_memory_test
