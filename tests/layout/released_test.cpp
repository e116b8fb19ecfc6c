// SPDX-License-Identifier: Apache-2.0
// Segments that are returned to the driver: in the layout, and their cost in a replay.
#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "sim/config/load_system.h"
#include "sim/engine/simulation.h"
#include "tests/layout/world.h"

namespace uvmsim::layout::released_test {
namespace {

LayoutChoice limited(std::uint64_t mib) {
  return LayoutChoice("pytorch_caching", {{"memory_limit_bytes", fmt::format("{}MiB", mib)}});
}

Blocks dropped(World& world) {
  Blocks blocks;
  world.layout.drop_released([&](BlockIndex first, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) blocks.push_back(first.value + i);
  });
  return blocks;
}

TEST(LayoutReleased, AreTheUnusedSegmentsWhenTheLimitIsReached) {
  World world(limited(50));
  world.tensor(1, 30 * kMiB);
  const Blocks first = blocks_of(world.layout.find(1));
  world.free_tensor(1);
  const Blocks second = blocks_of(world.tensor(2, 40 * kMiB));
  ASSERT_EQ(world.layout.released().size(), 1u);
  EXPECT_EQ(world.layout.released()[0].bytes, 30 * kMiB);
  EXPECT_EQ(world.layout.live_bytes(), 40 * kMiB);
  EXPECT_EQ(world.layout.peak_chunk_bytes(), 40 * kMiB);  // returned before the next one was allocated
  EXPECT_EQ(second.front(), first.back() + 1);            // its blocks are still there, until the device is idle
  EXPECT_EQ(dropped(world), first);
  EXPECT_FALSE(world.space.block(BlockIndex(first[0])).live);
  EXPECT_EQ(dropped(world), Blocks{});
}

TEST(LayoutReleased, BeyondTheLimitThereIsAnError) {
  World world(limited(50));
  world.tensor(1, 30 * kMiB);
  EXPECT_THROW(world.tensor(2, 30 * kMiB), InputError);
}

TEST(LayoutReleased, ARecordedSegmentThatIsFreedEmptiesTheCache) {
  for (const char* when : {"recorded", "never"}) {
    for (const char* name : {"pytorch_caching", "expandable_segments"}) {
      World world(LayoutChoice(name, {{"empty_cache", when}}));
      world.segment(1, 20 * kMiB);
      world.tensor(2, 5 * kMiB, 1);
      world.tensor(3, 60 * kMiB);
      world.free_tensor(2);
      world.free(1);
      const std::uint64_t unused = std::string(name) == "pytorch_caching" ? 20 * kMiB : 0;  // the 5 MiB share a handle
      std::uint64_t released = 0;
      for (const Released& memory : world.layout.released()) released += memory.bytes;
      EXPECT_EQ(released, std::string(when) == "recorded" ? unused : 0u) << name << " " << when;
      world.free_tensor(3);
    }
  }
}

TEST(LayoutReleased, HandlesGoBackFromTheMiddleOfAReservation) {
  World world("expandable_segments");
  world.segment(1, 2 * kMiB);
  world.tensor(5, 100, 1);
  world.tensor(2, 15 * kMiB);
  world.tensor(3, 50 * kMiB);
  const Blocks last = blocks_of(world.tensor(4, 15 * kMiB));
  EXPECT_EQ(world.layout.live_bytes(), 82 * kMiB);
  const Blocks middle = blocks_of(world.layout.find(3));  // from 15 to 65 MiB
  world.free_tensor(3);
  world.free_tensor(5);
  world.free(1);
  EXPECT_EQ(world.layout.live_bytes(), 40 * kMiB);
  const Blocks released = dropped(world);
  ASSERT_EQ(released.size(), 21u);    // handles at 20 and 40 MiB, and the one of 2 MiB
  EXPECT_EQ(released[0], middle[3]);  // middle[0] lies at 14 MiB
  EXPECT_EQ(blocks_of(world.layout.find(4)), last);
  const Placement& again = world.tensor(6, 20 * kMiB);  // 5 MiB with memory, 15 without
  EXPECT_EQ(again.offset, kMiB);
  EXPECT_EQ(blocks_of(again)[0], middle[0]);
  EXPECT_EQ(world.taken.bytes, 20 * kMiB);
  EXPECT_EQ(world.taken.calls, 0u);  // the reservation exists already
}

// --- replay ---

trace::TensorAlloc tensor_of(trace::ObjectId id, std::uint64_t bytes) {
  trace::TensorAlloc record;
  record.id = id;
  record.bytes = bytes;
  return record;
}

trace::Kernel write(trace::ObjectId id, std::uint64_t bytes) {
  trace::Kernel kernel;
  kernel.name = "write";
  kernel.grid = {64, 1, 1};
  kernel.block = {256, 1, 1};
  kernel.duration_ns = 20000;
  kernel.accesses.push_back({id, {{0, bytes / 512, trace::AccessMode::kWrite}}});
  return kernel;
}

RunResult replay(const LayoutChoice& layout, const std::vector<trace::Record>& records) {
  RunOptions options;
  options.system = config::load_system(UVMSIM_SOURCE_DIR "/configs/systems/h200-sxm-pcie5.json");
  options.layout = layout;
  options.capacity_bytes = std::uint64_t{1} << 30;
  trace::Header header;
  std::size_t i = 0;
  return simulate(header,
                  [&](trace::Record& record) {
                    if (i == records.size()) return false;
                    record = records[i++];
                    return true;
                  },
                  options, {});
}

// A and B alternate; both fit only without a limit.
std::vector<trace::Record> taking_turns() {
  std::vector<trace::Record> records;
  for (trace::ObjectId id = 1; id <= 6; ++id) {
    const std::uint64_t bytes = (id % 2 == 0 ? 60 : 40) * kMiB;
    records.emplace_back(tensor_of(id, bytes));
    records.emplace_back(write(id, bytes));
    records.emplace_back(trace::TensorFree{id});
  }
  return records;
}

TEST(ReleasedReplay, SegmentsThatComeBackArePopulatedAnew) {
  const RunResult kept = replay("pytorch_caching", taking_turns());
  const RunResult released = replay(limited(80), taking_turns());
  EXPECT_EQ(kept.footprint_bytes, 100 * kMiB);
  EXPECT_EQ(released.footprint_bytes, 60 * kMiB);
  // Without a limit two segments are enough, and the second tensors find theirs populated. With a limit, the 60 MiB
  // also serve the next request of 40 MiB, so the 40 MiB are returned once.
  EXPECT_EQ(kept.counters.populated_pages, 100u * 256);
  EXPECT_EQ(released.counters.populated_pages, 100u * 256);
  const config::RuntimeCosts& runtime =
      config::load_system(UVMSIM_SOURCE_DIR "/configs/systems/h200-sxm-pcie5.json").runtime;
  EXPECT_EQ(released.counters.host_allocation_ns - kept.counters.host_allocation_ns,
            runtime.free_touched_ns + 38 * runtime.free_ns_per_mib);
}

TEST(ReleasedReplay, CudaFreeWaitsForTheKernelsBefore) {
  // The host is far ahead when the limit is reached; memory that it frees is in use until then.
  std::vector<trace::Record> records{tensor_of(1, 40 * kMiB)};
  for (int i = 0; i < 50; ++i) records.emplace_back(write(1, 40 * kMiB));
  records.emplace_back(trace::TensorFree{1});
  records.emplace_back(tensor_of(2, 60 * kMiB));
  records.emplace_back(write(2, 60 * kMiB));
  const RunResult result = replay(limited(80), records);
  EXPECT_EQ(result.counters.kernels, 51u);
  EXPECT_EQ(result.counters.populated_pages, 100u * 256);
  EXPECT_EQ(result.records, records.size());
}

TEST(ReleasedReplay, ASegmentAtTheEndOfTheTraceIsFreedToo) {
  trace::ObjectAlloc segment;
  segment.id = 1;
  segment.bytes = 40 * kMiB;
  trace::TensorAlloc tensor = tensor_of(2, 40 * kMiB);
  tensor.object = 1;
  const std::vector<trace::Record> records{segment, tensor, write(2, 40 * kMiB), trace::TensorFree{2},
                                           trace::ObjectFree{1}};
  const std::uint64_t freed = replay("pytorch_caching", records).counters.host_allocation_ns;
  const std::uint64_t kept =
      replay(LayoutChoice("pytorch_caching", {{"empty_cache", "never"}}), records).counters.host_allocation_ns;
  const config::RuntimeCosts& runtime =
      config::load_system(UVMSIM_SOURCE_DIR "/configs/systems/h200-sxm-pcie5.json").runtime;
  EXPECT_EQ(freed - kept, runtime.free_touched_ns + 38 * runtime.free_ns_per_mib);
}

TEST(DeviceMemory, CostsWhatCudaMallocAndCudaFreeCost) {
  trace::ObjectAlloc device;
  device.id = 1;
  device.kind = trace::ObjectKind::kDevice;
  device.bytes = 512 * kMiB;
  const RunResult result = replay("recorded", {device, trace::ObjectFree{1}});
  const config::RuntimeCosts& runtime =
      config::load_system(UVMSIM_SOURCE_DIR "/configs/systems/h200-sxm-pcie5.json").runtime;
  EXPECT_EQ(result.counters.host_allocation_ns, runtime.device_allocate_ns + runtime.device_allocate_ns_per_gib / 2 +
                                                    runtime.device_free_ns + runtime.device_free_ns_per_gib / 2);
  EXPECT_EQ(result.footprint_bytes, 0u);  // not managed
}

}  // namespace
}  // namespace uvmsim::layout::released_test
