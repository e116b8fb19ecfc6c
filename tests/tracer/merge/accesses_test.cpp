// SPDX-License-Identifier: Apache-2.0
// Checks the accesses of launches: tensors and objects, phases, order and counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "tests/tracer/merge/log_builder.h"

namespace uvmsim::trace {

void PrintTo(const Extent& extent, std::ostream* out) {
  *out << "{" << extent.first << ", " << extent.count << ", " << static_cast<int>(extent.mode) << "}";
}

}  // namespace uvmsim::trace

namespace uvmtrace {
namespace {

constexpr auto kR = trace::AccessMode::kRead, kW = trace::AccessMode::kWrite, kRw = trace::AccessMode::kReadWrite;
constexpr std::uint64_t kT = 0x7f0000000000, kA = 0x7e0000000000, kMiB = 1 << 20;
using Extents = std::vector<trace::Extent>;

class AccessesTest : public ::testing::Test {
 protected:
  LogBuilder timing{Pass::kTiming}, access{Pass::kAccess};

  void alloc(std::uint64_t offset, std::uint64_t bytes, const char* kind = "device") {
    timing.alloc(kT + offset, bytes, kind);
    access.alloc(kA + offset, bytes, kind);
  }
  void tensor(std::uint64_t offset, std::uint64_t bytes) {
    timing.tensor_alloc(kT + offset, bytes);
    access.tensor_alloc(kA + offset, bytes);
  }
  // Takes runs as offsets from the first allocation, in bytes.
  trace::Kernel launch(LogBuilder::LaunchSpec spec) {
    timing.launch(spec);
    for (auto& run : spec.accesses) run.first += kA;
    for (auto& phase : spec.phases) {
      for (auto& run : phase.pages) run.first += kA;
    }
    for (auto& address : spec.order) address += kA;
    for (auto& item : spec.counts) item.first += kA;
    access.launch(spec);
    merged = merge_logs(timing.text(), access.text());
    return merged.all<trace::Kernel>().back();
  }
  Merged merged;
};

TEST_F(AccessesTest, TensorsBeforeObjects) {
  alloc(0, 2 * kMiB);   // 1
  tensor(1024, 1000);   // 2
  tensor(8192, 65536);  // 3
  LogBuilder::LaunchSpec spec;
  spec.accesses = {{0, 4096, kR}, {8192, 512, kW}, {8704, 1024, kRw}};
  const auto kernel = launch(spec);
  EXPECT_EQ(kernel.coverage, trace::Coverage::kInstrumented);
  EXPECT_EQ(kernel.duration_ns, 2000);
  EXPECT_EQ(kernel.registers_per_thread, 40u);
  EXPECT_EQ(kernel.shared_bytes_per_block, 1024u);
  ASSERT_EQ(kernel.accesses.size(), 3u);
  EXPECT_EQ(kernel.accesses[0].object, 1u);
  EXPECT_EQ(Extents(kernel.accesses[0].extents), (Extents{{0, 2, kR}, {4, 4, kR}}));
  EXPECT_EQ(kernel.accesses[1].object, 2u);
  EXPECT_EQ(Extents(kernel.accesses[1].extents), (Extents{{0, 2, kR}}));
  EXPECT_EQ(kernel.accesses[2].object, 3u);
  EXPECT_EQ(Extents(kernel.accesses[2].extents), (Extents{{0, 1, kW}, {1, 2, kRw}}));
  const auto tensors = merged.all<trace::TensorAlloc>();
  EXPECT_EQ(tensors[0].object, 1u);
  EXPECT_EQ(tensors[0].offset, 1024u);
  EXPECT_EQ(tensors[0].bytes, 1000u);
}

// A kernel that reads whole vectors reads beyond the requested bytes, inside the allocator's rounding. Such accesses
// are clipped at the tensor's last quantum; accesses behind that quantum belong to the object.
TEST_F(AccessesTest, TailsBeyondTheRequestedBytes) {
  alloc(0, 2 * kMiB);
  tensor(0, 1030);
  LogBuilder::LaunchSpec spec;
  spec.accesses = {{0, 2048, kR}};
  const auto kernel = launch(spec);
  ASSERT_EQ(kernel.accesses.size(), 2u);
  EXPECT_EQ(Extents(kernel.accesses[0].extents), (Extents{{3, 1, kR}}));
  EXPECT_EQ(Extents(kernel.accesses[1].extents), (Extents{{0, 3, kR}}));
}

TEST_F(AccessesTest, FreedTensorsAreTouchableUntilTheAllocatorHasThem) {
  alloc(0, 2 * kMiB);
  tensor(0, 512);
  timing.tensor_free(kT);
  access.tensor_free(kA);
  LogBuilder::LaunchSpec spec;
  spec.accesses = {{0, 512, kW}};
  timing.launch(spec);
  spec.accesses[0].first += kA;
  access.launch(spec);
  timing.tensor_free(kT, true);
  access.tensor_free(kA, true);
  merged = merge_logs(timing.text(), access.text());
  EXPECT_EQ(merged.all<trace::Kernel>()[0].accesses[0].object, 2u);
  ASSERT_TRUE(std::holds_alternative<trace::TensorFree>(merged.records.back()));
}

TEST_F(AccessesTest, MemoryOfModulesComesFromTheAccessPass) {
  alloc(0, kMiB);
  access.alloc(kA + 64 * kMiB, 3000, "module");
  LogBuilder::LaunchSpec spec;
  spec.accesses = {{0, 512, kR}, {64 * kMiB, 1024, kR}};
  const auto kernel = launch(spec);
  const auto objects = merged.all<trace::ObjectAlloc>();
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[1].kind, trace::ObjectKind::kDevice);
  EXPECT_EQ(objects[1].bytes, 3000u);
  EXPECT_EQ(objects[1].va, 0u);
  EXPECT_EQ(kernel.accesses[1].object, 2u);
  EXPECT_EQ(Extents(kernel.accesses[1].extents), (Extents{{0, 2, kR}}));
  EXPECT_EQ(merged.summary.unmatched_memory, 0u);
}

TEST_F(AccessesTest, UnknownAndLost) {
  alloc(0, kMiB);
  access.alloc(kA + 64 * kMiB, 4096);  // the timing pass lacks this allocation
  LogBuilder::LaunchSpec spec;
  spec.accesses = {{0, 512, kR}, {32 * kMiB, 1536, kR}, {64 * kMiB, 1024, kW}};
  spec.unknown = 10;
  const auto kernel = launch(spec);
  ASSERT_EQ(kernel.accesses.size(), 1u);
  EXPECT_EQ(kernel.unknown_accesses, 10u + 3u + 2u);
  EXPECT_EQ(merged.summary.lost_quanta, 2u);
}

// --- phases

std::vector<PhaseRuns> slices(std::uint32_t blocks, std::uint32_t count, const Extents& everything) {
  std::vector<PhaseRuns> out;
  for (std::uint32_t k = 0; k < count; ++k) out.push_back({k * blocks / count, blocks / count, everything});
  return out;
}

TEST_F(AccessesTest, PhasesAreSubsetsOfTheAccesses) {
  alloc(0, 64 * kMiB);
  LogBuilder::LaunchSpec spec;
  spec.accesses = {{512, 512, kR}, {65536, 1024, kRw}, {kMiB, kMiB, kW}};
  spec.phases = slices(16, 4, {{0, 131072, kRw}, {kMiB, kMiB, kRw}});
  const auto kernel = launch(spec);
  ASSERT_EQ(kernel.phases.size(), 4u);
  for (const trace::Phase& phase : kernel.phases) {
    EXPECT_EQ(phase.block_count, 4u);
    ASSERT_EQ(phase.accesses.size(), 1u);
    EXPECT_EQ(phase.accesses[0].extents, (Extents{{1, 1, kR}, {128, 2, kRw}, {2048, 2048, kW}}));
  }
}

TEST_F(AccessesTest, PhasesOfAnEvenSplitAreDropped) {
  alloc(0, 64 * kMiB);
  LogBuilder::LaunchSpec spec;
  spec.name = "sgemm";  // its name suggests otherwise, but its accesses count
  spec.accesses = {{0, 32 * kMiB, kR}, {32 * kMiB, 16 * kMiB, kW}};
  for (std::uint64_t k = 0; k < 16; ++k) {
    spec.phases.push_back({k, 1, {{k * 2 * kMiB, 2 * kMiB, kR}, {32 * kMiB + k * kMiB, kMiB, kW}}});
  }
  const auto kernel = launch(spec);
  EXPECT_TRUE(kernel.phases.empty());
  EXPECT_EQ(kernel.distribution, trace::Distribution::kBlockLinear);
}

// One extra page at either end counts as rounding; two do not.
TEST_F(AccessesTest, RoundingOfAnEvenSplit) {
  for (const std::uint64_t extra : {65536u, 131072u}) {
    timing = LogBuilder(Pass::kTiming);
    access = LogBuilder(Pass::kAccess);
    alloc(0, 64 * kMiB);
    LogBuilder::LaunchSpec spec;
    spec.accesses = {{0, 32 * kMiB, kR}};
    for (std::uint64_t k = 0; k < 16; ++k) {
      spec.phases.push_back({k, 1, {{k * 2 * kMiB, 2 * kMiB + (k < 15 ? extra : 0), kR}}});
    }
    EXPECT_EQ(launch(spec).phases.empty(), extra == 65536) << extra;
  }
}

TEST_F(AccessesTest, DescendingOrGatheredSplitsAreKept) {
  alloc(0, 64 * kMiB);
  LogBuilder::LaunchSpec spec;
  spec.accesses = {{0, 32 * kMiB, kR}};
  for (std::uint64_t k = 0; k < 16; ++k) spec.phases.push_back({k, 1, {{(15 - k) * 2 * kMiB, 2 * kMiB, kR}}});
  EXPECT_EQ(launch(spec).phases.size(), 16u);
  spec.phases.clear();
  for (std::uint64_t k = 0; k < 16; ++k) {  // every phase covers the whole range, in steps
    Extents pages;
    for (std::uint64_t i = 0; i < 32; ++i) pages.push_back({i * kMiB + k * 65536, 65536, kR});
    spec.phases.push_back({k, 1, pages});
  }
  EXPECT_EQ(launch(spec).phases.size(), 16u);
}

// The simulator replays phases instead of the accesses, so accesses of no phase must not be lost.
TEST_F(AccessesTest, PhasesCoverGridAndAccesses) {
  alloc(0, 64 * kMiB);
  LogBuilder::LaunchSpec spec;
  spec.accesses = {{0, kMiB, kRw}, {8 * kMiB, kMiB, kR}};
  spec.phases = {{4, 4, {{0, kMiB, kR}}}, {12, 2, {{0, kMiB, kR}}}};
  const auto kernel = launch(spec);
  ASSERT_EQ(kernel.phases.size(), 5u);
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> expected = {{0, 4}, {4, 4}, {8, 4}, {12, 2}, {14, 2}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(std::pair(kernel.phases[i].first_block, kernel.phases[i].block_count), expected[i]);
  }
  EXPECT_EQ(kernel.phases[0].accesses[0].extents, (Extents{{0, 2048, kW}, {16384, 2048, kR}}));
  EXPECT_EQ(kernel.phases[1].accesses[0].extents, (Extents{{0, 2048, kR}}));
}

// --- order and counts

TEST_F(AccessesTest, OrderAndCountsInUnitsOfTheThing) {
  alloc(0, 2 * kMiB);      // 1
  tensor(1024, 150000);    // 2: pages 0, 1, 2
  tensor(262144, 131072);  // 3: pages 4, 5
  LogBuilder::LaunchSpec spec;
  spec.accesses = {{1024, 150016, kR}, {262144, 131072, kW}};
  spec.order = {327680, 65536, 0, 131072, 262144};
  spec.counts = {{0, 5}, {65536, 7}, {131072, 1}, {262144, 4294967295}};
  const auto kernel = launch(spec);
  std::vector<std::pair<std::uint32_t, std::uint64_t>> order;
  for (const auto& touch : kernel.order) order.emplace_back(touch.slot, touch.unit);
  using Order = std::vector<std::pair<std::uint32_t, std::uint64_t>>;
  // Page 1 of the tensor at 1024 has the end of its unit 0 and most of unit 1.
  EXPECT_EQ(order, (Order{{1, 1}, {0, 0}, {0, 1}, {0, 2}, {1, 0}}));
  std::vector<std::array<std::uint64_t, 3>> counts;
  for (const auto& item : kernel.counts) counts.push_back({item.slot, item.unit, item.count});
  using Counts = std::vector<std::array<std::uint64_t, 3>>;
  EXPECT_EQ(counts, (Counts{{0, 0, 12}, {0, 1, 1}, {1, 0, 4294967295}}));
}

}  // namespace
}  // namespace uvmtrace
