// SPDX-License-Identifier: Apache-2.0
// The recorded training programs under the allocator models.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/common/error.h"
#include "sim/layout/caching_allocator.h"
#include "sim/layout/footprint.h"
#include "sim/layout/segments.h"
#include "sim/trace/reader.h"

namespace uvmsim::layout::workloads_test {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

struct Outcome {
  std::uint64_t footprint = 0;
  std::vector<std::uint64_t> segments_opened;  // by iteration
};

// Replays all choices in one pass over the trace.
std::vector<Outcome> play(const std::string& name, const std::vector<LayoutChoice>& choices) {
  trace::TraceReader reader(UVMSIM_SOURCE_DIR "/workloads/" + name + ".uvmt");
  const SegmentFinder::Source source = [&](trace::Record& record) { return reader.next(record); };
  SegmentFinder records(source);
  std::vector<std::unique_ptr<FootprintMeter>> meters;
  for (const LayoutChoice& choice : choices) meters.push_back(std::make_unique<FootprintMeter>(choice));
  std::vector<Outcome> out(choices.size());
  std::vector<std::uint64_t> before(choices.size());
  for (trace::Record record; records.next(record);) {
    const auto* range = std::get_if<trace::Range>(&record);
    for (std::size_t i = 0; i < choices.size(); ++i) {
      meters[i]->add(record, records.is_segment());
      if (range == nullptr) continue;
      if (range->kind == trace::RangeKind::kIterationBegin) before[i] = meters[i]->segment_count();
      if (range->kind == trace::RangeKind::kIterationEnd) {
        out[i].segments_opened.push_back(meters[i]->segment_count() - before[i]);
      }
    }
  }
  for (std::size_t i = 0; i < choices.size(); ++i) out[i].footprint = meters[i]->footprint_bytes();
  return out;
}

class Workloads : public testing::TestWithParam<const char*> {};

TEST_P(Workloads, SettleAndTakeWhatTheAllocatorTook) {
  const std::vector<Outcome> outcomes =
      play(GetParam(), {"recorded", "pytorch_caching", "expandable_segments", "none",
                        LayoutChoice("pytorch_caching", {{"record_stream", "never"}})});
  const Outcome& recorded = outcomes[0];
  const Outcome& caching = outcomes[1];
  const Outcome& expandable = outcomes[2];
  ASSERT_GE(caching.segments_opened.size(), 3u);
  EXPECT_GT(caching.segments_opened[0], 0u);
  EXPECT_EQ(caching.segments_opened.back(), 0u);  // settled
  EXPECT_EQ(expandable.segments_opened.back(), 0u);
  // The recording ran under the modelled allocator; its memory outside of segments is the program's own.
  EXPECT_LE(caching.footprint, recorded.footprint);
  EXPECT_GE(caching.footprint + 64 * kMiB, recorded.footprint);
  EXPECT_LT(outcomes[3].footprint, caching.footprint);
  // Streams of libraries are joined before tensors are freed: no block waits that did not wait during the recording.
  EXPECT_EQ(outcomes[4].footprint, caching.footprint);
  // Handles of 20 MiB in one range waste less than segments do.
  EXPECT_LT(expandable.footprint, caching.footprint + 40 * kMiB);
}

// The same comparison as `uvmtrace check-layout`: segments of the model and of the recording correspond if the same
// tensor caused them to be allocated.
TEST_P(Workloads, EveryTensorLiesWhereItWasRecorded) {
  trace::TraceReader reader(UVMSIM_SOURCE_DIR "/workloads/" + std::string(GetParam()) + ".uvmt");
  struct Segment {
    std::uint64_t bytes = 0, va = 0, in_model = ~std::uint64_t{0};
    bool used = false;
  };
  std::unordered_map<trace::ObjectId, Segment> segments;
  std::unordered_map<trace::ObjectId, std::uint64_t> blocks;
  CachingAllocator model;
  std::uint64_t tensors = 0, equal = 0;
  for (trace::Record record; reader.next(record);) {
    if (const auto* object = std::get_if<trace::ObjectAlloc>(&record)) {
      segments[object->id] = {object->bytes, object->va};
    } else if (const auto* tensor = std::get_if<trace::TensorAlloc>(&record)) {
      Segment& segment = segments.at(tensor->object);
      const auto placed = model.allocate(tensor->bytes, tensor->stream, segment.used ? 0 : segment.va);
      if (!segment.used && placed.new_segment) segment.in_model = placed.segment;
      segment.used = true;
      blocks[tensor->id] = placed.id;
      ++tensors;
      equal +=
          segment.in_model == placed.segment && segment.bytes == placed.segment_bytes && tensor->offset == placed.offset
              ? 1
              : 0;
    } else if (const auto* freed = std::get_if<trace::TensorFree>(&record)) {
      model.free(blocks.at(freed->id));
    }
  }
  EXPECT_GT(tensors, 200u);
  EXPECT_EQ(equal, tensors);
}

INSTANTIATE_TEST_SUITE_P(Training, Workloads,
                         testing::Values("alexnet", "resnet50", "resnet101", "gpt2", "bert", "whisper"));

// Compares with PyTorch's report during the recording of workloads/paper, by iteration; the model must reserve the same
// memory.
class Measured : public testing::TestWithParam<const char*> {};

TEST_P(Measured, TheModelReservesAsMuchInEveryIteration) {
  constexpr double kTolerance = 0.03;
  std::ifstream file(UVMSIM_SOURCE_DIR "/workloads/paper/memory.json");
  const auto program = nlohmann::json::parse(file).at("programs").at(GetParam());
  const auto measured = program.at("reserved_mib");

  trace::TraceReader reader(UVMSIM_SOURCE_DIR "/workloads/paper/" + std::string(GetParam()) + ".uvmt");
  const SegmentFinder::Source source = [&](trace::Record& record) { return reader.next(record); };
  SegmentFinder records(source);
  FootprintMeter meter("pytorch_caching");
  std::size_t iterations = 0;
  double worst = 0;
  std::uint64_t device_bytes = 0;
  for (trace::Record record; records.next(record);) {
    meter.add(record, records.is_segment());
    const auto* object = std::get_if<trace::ObjectAlloc>(&record);
    if (object != nullptr && object->kind == trace::ObjectKind::kDevice) device_bytes += object->bytes;
    const auto* range = std::get_if<trace::Range>(&record);
    if (range == nullptr || range->kind != trace::RangeKind::kIterationEnd) continue;
    ASSERT_LT(iterations, measured.size());
    // Segments stay, so the peak is the memory that is reserved now; it includes the program's own few MiB.
    const double mib = static_cast<double>(meter.footprint_bytes()) / static_cast<double>(kMiB);
    const double expected = measured[iterations].get<double>();
    EXPECT_NEAR(mib, expected, kTolerance * expected) << "iteration " << iterations;
    worst = std::max(worst, std::abs(mib / expected - 1));
    ++iterations;
  }
  EXPECT_GE(iterations, 4u);
  EXPECT_EQ(device_bytes, program.value("unmanaged_mib", std::uint64_t{0}) * kMiB);
  std::cout << GetParam() << ": " << iterations << " iterations, at most " << 100 * worst << " % off\n";
}

// Compares with the GPU memory that the process had taken after each iteration according to the driver: the recording's
// allocations, including those of libraries, and its device memory.
class Taken : public testing::TestWithParam<const char*> {};

TEST_P(Taken, AllocationsAndDeviceMemoryAreWhatWasTaken) {
  constexpr double kTolerance = 0.001;
  std::ifstream file(UVMSIM_SOURCE_DIR "/workloads/paper/memory.json");
  const auto taken = nlohmann::json::parse(file).at("programs").at(GetParam()).at("taken_mib");
  trace::TraceReader reader(UVMSIM_SOURCE_DIR "/workloads/paper/" + std::string(GetParam()) + ".uvmt");
  std::map<trace::ObjectId, std::uint64_t> live;
  std::size_t iterations = 0;
  for (trace::Record record; reader.next(record);) {
    if (const auto* object = std::get_if<trace::ObjectAlloc>(&record)) {
      if (object->kind != trace::ObjectKind::kPinned) live[object->id] = object->bytes;
    } else if (const auto* freed = std::get_if<trace::ObjectFree>(&record)) {
      live.erase(freed->id);
    } else if (const auto* range = std::get_if<trace::Range>(&record);
               range != nullptr && range->kind == trace::RangeKind::kIterationEnd) {
      std::uint64_t bytes = 0;
      for (const auto& [id, size] : live) bytes += size;
      const double expected = taken.at(iterations).get<double>();
      EXPECT_NEAR(static_cast<double>(bytes) / static_cast<double>(kMiB), expected, kTolerance * expected)
          << "iteration " << iterations;
      ++iterations;
    }
  }
  EXPECT_GE(iterations, 4u);
}

// With the memory that PyTorch had on a card of 80 GB, GPT-2 runs out of memory at the same batch, iteration and used
// memory.
TEST(MeasuredOn80Gb, Gpt2FailsWhereItFailed) {
  std::ifstream file(UVMSIM_SOURCE_DIR "/workloads/paper/memory.json");
  const auto card = nlohmann::json::parse(file).at("gpt2_on_80_gb");
  const std::uint64_t limit = card.at("limit_mib").get<std::uint64_t>() * kMiB;
  for (const auto& [name, measured] : card.at("programs").items()) {
    SCOPED_TRACE(name);
    trace::TraceReader reader(UVMSIM_SOURCE_DIR "/workloads/paper/" + name + ".uvmt");
    const SegmentFinder::Source source = [&](trace::Record& record) { return reader.next(record); };
    SegmentFinder records(source);
    FootprintMeter meter(LayoutChoice("pytorch_caching", {{"memory_limit_bytes", std::to_string(limit)}}));
    int iterations = 0;
    std::string error;
    try {
      for (trace::Record record; records.next(record);) {
        meter.add(record, records.is_segment());
        const auto* range = std::get_if<trace::Range>(&record);
        if (range != nullptr && range->kind == trace::RangeKind::kIterationEnd) ++iterations;
      }
    } catch (const InputError& thrown) {
      error = thrown.what();
    }
    if (measured.at("fails_in_iteration").is_null()) {
      EXPECT_EQ(error, "");
      const std::uint64_t most = measured.at("reserved_mib").back().get<std::uint64_t>() * kMiB;
      EXPECT_NEAR(static_cast<double>(meter.footprint_bytes()), static_cast<double>(most),
                  0.03 * static_cast<double>(most));
      continue;
    }
    EXPECT_EQ(iterations, measured.at("fails_in_iteration").get<int>());
    const std::uint64_t taken = measured.at("reserved_at_failure_mib").get<std::uint64_t>() * kMiB;
    EXPECT_NE(error.find(std::to_string(taken) + " of"), std::string::npos) << error;
  }
}

INSTANTIATE_TEST_SUITE_P(Paper, Taken, testing::Values("alexnet", "resnet50", "resnet101", "gpt2", "bert", "whisper"));
INSTANTIATE_TEST_SUITE_P(Paper, Measured,
                         testing::Values("alexnet", "resnet50", "resnet101", "gpt2", "bert", "whisper", "gpt2_b64",
                                         "gpt2_b72", "gpt2_b76", "gpt2_b80", "gpt2_b88", "gpt2_b96"),
                         [](const auto& info) { return std::string(info.param); });
INSTANTIATE_TEST_SUITE_P(Paper, Workloads,
                         testing::Values("paper/alexnet", "paper/resnet50", "paper/resnet101", "paper/gpt2",
                                         "paper/bert", "paper/whisper"));

}  // namespace
}  // namespace uvmsim::layout::workloads_test
