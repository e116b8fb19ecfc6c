// SPDX-License-Identifier: Apache-2.0
// Tests of the layout pytorch_caching, of the recognition of segments, and of both in a replay.
#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "sim/config/load_system.h"
#include "sim/engine/simulation.h"
#include "sim/layout/segments.h"
#include "tests/layout/world.h"

namespace uvmsim::layout {
namespace {

TEST(LayoutPytorchCaching, TensorsShareTheModelsSegments) {
  World world("pytorch_caching");
  EXPECT_TRUE(world.segment(1, 40 * kMiB).blocks.empty());
  const Placement& a = world.tensor(2, 1000, 1);
  EXPECT_EQ(blocks_of(a), (Blocks{0}));
  EXPECT_FALSE(a.owns);
  EXPECT_EQ(world.taken.bytes, 2 * kMiB);  // the segment
  const Placement& b = world.tensor(3, 1000, 1, 1024);
  EXPECT_EQ(b.offset, 1024u);
  EXPECT_EQ(world.taken.bytes, 0u);
  const Placement& large = world.tensor(4, 5 * kMiB, 1, 0);  // wherever it was in the recording
  EXPECT_EQ(blocks_of(large), (Blocks{1, 2, 3}));
  EXPECT_EQ(world.taken.bytes, 20 * kMiB);
  const Placement& next = world.tensor(5, 3 * kMiB, 1, 0);
  EXPECT_EQ(blocks_of(next), (Blocks{3, 4}));
  EXPECT_EQ(next.offset, kMiB);
}

TEST(LayoutPytorchCaching, SegmentsStayAndAreReused) {
  World world("pytorch_caching");
  world.tensor(1, 30 * kMiB);
  EXPECT_EQ(world.free_tensor(1), Blocks{});
  EXPECT_EQ(world.layout.live_bytes(), 30 * kMiB);
  EXPECT_EQ(world.layout.find(1).bytes, 30 * kMiB);  // kernels that were launched before still name it
  EXPECT_EQ(blocks_of(world.tensor(2, 29 * kMiB)).front(), 0u);
  EXPECT_EQ(world.taken.bytes, 0u);
  EXPECT_TRUE(world.tensor(3, 20 * kMiB, trace::kNoObject, 0, 1).blocks.front().value >= 15u);  // another stream
  world.layout.forget(1);
  EXPECT_THROW(world.layout.find(1), InputError);
  EXPECT_EQ(world.layout.peak_chunk_bytes(), 50 * kMiB);
}

TEST(LayoutPytorchCaching, OtherObjectsLieByThemselves) {
  World world("pytorch_caching");
  EXPECT_EQ(blocks_of(world.object(1, 3 * kMiB)), (Blocks{0, 1}));
  EXPECT_TRUE(world.layout.find(1).owns);
  world.tensor(2, 100);
  EXPECT_EQ(world.free(1), (Blocks{0, 1}));
}

TEST(LayoutPytorchCaching, RecordedAddressesDecideBetweenEquallyLargeBlocks) {
  World world("pytorch_caching");
  world.segment(1, 30 * kMiB, 0x7f0020000000);
  const Blocks high = blocks_of(world.tensor(11, 30 * kMiB, 1));
  world.segment(2, 30 * kMiB, 0x7f0010000000);
  const Blocks low = blocks_of(world.tensor(12, 30 * kMiB, 2));
  world.free_tensor(11);
  world.free_tensor(12);
  EXPECT_EQ(blocks_of(world.tensor(13, 30 * kMiB, 2)), low);
  EXPECT_NE(low, high);
}

// --- which objects are segments ---

trace::ObjectAlloc object_of(trace::ObjectId id, std::uint64_t bytes) {
  trace::ObjectAlloc record;
  record.id = id;
  record.bytes = bytes;
  return record;
}

trace::TensorAlloc tensor_of(trace::ObjectId id, std::uint64_t bytes, trace::ObjectId inside) {
  trace::TensorAlloc record;
  record.id = id;
  record.bytes = bytes;
  record.object = inside;
  return record;
}

trace::Range push() {
  trace::Range range;
  range.name = "x";
  return range;
}

SegmentFinder::Source source_of(std::vector<trace::Record> records) {
  return [records, i = std::size_t{0}](trace::Record& record) mutable {
    if (i == records.size()) return false;
    record = records[i++];
    return true;
  };
}

TEST(SegmentFinder, IsFollowedByATensorInIt) {
  const auto source = source_of({object_of(1, 100), push(), tensor_of(2, 10, 1), object_of(3, 100), tensor_of(4, 10, 1),
                                 object_of(5, 100), object_of(6, 100), tensor_of(7, 10, 6), object_of(8, 100), push()});
  SegmentFinder finder(source);
  trace::Record record;
  std::vector<std::size_t> kinds;
  std::vector<bool> segments;
  while (finder.next(record)) {
    kinds.push_back(record.index());
    if (std::holds_alternative<trace::ObjectAlloc>(record)) segments.push_back(finder.is_segment());
  }
  const std::size_t object = trace::Record(trace::ObjectAlloc{}).index();
  const std::size_t tensor = trace::Record(trace::TensorAlloc{}).index();
  const std::size_t range = trace::Record(trace::Range{}).index();
  EXPECT_EQ(kinds,
            (std::vector<std::size_t>{object, range, tensor, object, tensor, object, object, tensor, object, range}));
  EXPECT_EQ(segments, (std::vector<bool>{true, false, false, true, false}));
}

// --- replay ---

trace::Kernel kernel_on(std::vector<trace::ObjectId> ids, std::uint64_t bytes) {
  trace::Kernel kernel;
  kernel.name = "write";
  kernel.grid = {64, 1, 1};
  kernel.block = {256, 1, 1};
  kernel.duration_ns = 20000;
  for (const trace::ObjectId id : ids) kernel.accesses.push_back({id, {{0, bytes / 512, trace::AccessMode::kWrite}}});
  return kernel;
}

// Two iterations of a framework: tensors are freed right after the launch, long before the kernel runs.
std::vector<trace::Record> training() {
  std::vector<trace::Record> records;
  trace::ObjectId id = 100;
  for (int iteration = 0; iteration < 2; ++iteration) {
    trace::Range begin;
    begin.kind = trace::RangeKind::kIterationBegin;
    begin.index = static_cast<std::uint64_t>(iteration);
    records.push_back(begin);
    for (int i = 0; i < 4; ++i) {
      if (iteration == 0 && i == 0) records.push_back(object_of(1, 20 * kMiB));
      records.push_back(tensor_of(++id, 4 * kMiB, 1));
      records.push_back(kernel_on({id}, 4 * kMiB));
      records.push_back(trace::TensorFree{id});
    }
    records.push_back(trace::Sync{});
    begin.kind = trace::RangeKind::kIterationEnd;
    records.push_back(begin);
  }
  records.push_back(trace::ObjectFree{1});
  return records;
}

RunResult replay(const std::string& layout, const std::vector<trace::Record>& records) {
  RunOptions options;
  options.system = config::load_system(UVMSIM_SOURCE_DIR "/configs/systems/h200-sxm-pcie5.json");
  options.layout = layout;
  options.capacity_bytes = std::uint64_t{1} << 30;
  trace::Header header;
  return simulate(header, source_of(records), options, {});
}

TEST(LayoutReplay, CachedTensorsFaultOnceOwnedOnesEveryTime) {
  const RunResult cached = replay("pytorch_caching", training());
  const RunResult recorded = replay("recorded", training());
  const RunResult owned = replay("none", training());
  EXPECT_EQ(cached.footprint_bytes, 20 * kMiB);
  EXPECT_EQ(recorded.footprint_bytes, 20 * kMiB);
  EXPECT_EQ(owned.footprint_bytes, 4 * kMiB);
  EXPECT_EQ(measure_footprint(source_of(training()), "none"), 4 * kMiB);
  EXPECT_EQ(measure_footprint(source_of(training()), "pytorch_caching"), 20 * kMiB);
  // 4 MiB of 4 KiB pages once, or eight times.
  EXPECT_EQ(cached.counters.populated_pages, 1024u);
  EXPECT_EQ(owned.counters.populated_pages, 8 * 1024u);
  // One cudaMallocManaged, compared with one and one cudaFree per tensor.
  EXPECT_LT(cached.counters.host_allocation_ns * 4, owned.counters.host_allocation_ns);
  EXPECT_LT(cached.total, owned.total);
}

TEST(LayoutReplay, ATouchedSegmentIsPaidForWhenItIsTouched) {
  std::vector<trace::Record> records = training();
  const std::uint64_t before = replay("none", records).counters.host_allocation_ns;
  trace::Memset set;
  set.object = 1;
  set.bytes = 4 * kMiB;
  records.insert(records.end() - 1, set);
  const RunResult result = replay("none", records);
  EXPECT_GT(result.counters.host_allocation_ns, before);
  EXPECT_EQ(result.footprint_bytes, 20 * kMiB);
}

}  // namespace
}  // namespace uvmsim::layout
