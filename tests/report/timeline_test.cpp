#include "sim/report/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/common/error.h"
#include "tests/report/scratch_folder.h"

namespace uvmsim::report {
namespace {

using ::testing::IsEmpty;

// The first event whose key has this value.
nlohmann::json find(const nlohmann::json& events, const char* key, const std::string& value) {
  for (const auto& event : events) {
    if (event.contains(key) && event[key] == value) return event;
  }
  return nullptr;
}

void emit_one_of_each(Timeline& timeline) {
  timeline.on(KernelEvent{"gemm<float>", 7, 0, Nanoseconds(1001), Nanoseconds(5001)});
  FaultBatchEvent batch{};
  batch.start = Nanoseconds(1500);
  batch.service_start = Nanoseconds(1600);
  batch.end = Nanoseconds(2500);
  batch.lowest_address = 0x7f0000001000;
  batch.raw_faults = 12;
  batch.faulting_pages = 3;
  batch.blocks = 1;
  batch.write = true;
  timeline.on(batch);
  timeline.on(TransferEvent{0, TransferDirection::kHostToDevice, TransferCause::kFault, Nanoseconds(1700),
                            Nanoseconds(1900), 0x7f0000001000, 65536});
  timeline.on(TransferEvent{1, TransferDirection::kDeviceToHost, TransferCause::kEvict, Nanoseconds(1700),
                            Nanoseconds(1900), 0x7f0000200000, 2097152});
  timeline.on(EvictionEvent{1, Nanoseconds(1650), 0x7f0000200000, 2097152});
  timeline.on(CpuFaultEvent{Nanoseconds(10), Nanoseconds(20), 0x1000, false});
  timeline.on(RemoteMapEvent{0, Nanoseconds(30), 0x1000, 4096});
  timeline.on(ThrashingEvent{Nanoseconds(40), 0x1000});
  timeline.on(ResidencyEvent{0, Nanoseconds(1700), 4096, 2097152});
  timeline.on(ResidencyEvent{0, Nanoseconds(1700), 65536, 2097152});
  timeline.on(ResidencyEvent{0, Nanoseconds(21800), 131072, 2097152});
  timeline.on(RangeEvent{"iteration 0", Nanoseconds(0), Nanoseconds(9000)});
}

TEST(Timeline, IsAnArrayOfTraceEvents) {
  const ScratchFolder folder;
  Timeline timeline(folder.path("t.json"));
  emit_one_of_each(timeline);
  timeline.finish();
  const auto events = nlohmann::json::parse(folder.read("t.json"));
  ASSERT_TRUE(events.is_array());
  for (const auto& event : events) {
    EXPECT_TRUE(event.contains("ph") && event.contains("pid") && event.contains("name")) << event;
    if (event["ph"] == "M") continue;
    EXPECT_TRUE(event["ts"].is_number()) << event;
    if (event["ph"] == "X") {
      EXPECT_GE(event["dur"].get<double>(), 0) << event;
    }
  }
  const auto kernel = find(events, "cat", "kernel");
  EXPECT_EQ(kernel["name"], "gemm<float>");
  EXPECT_DOUBLE_EQ(kernel["ts"].get<double>(), 1.001);
  EXPECT_DOUBLE_EQ(kernel["dur"].get<double>(), 4.0);
  EXPECT_EQ(find(events, "cat", "fault batch")["args"]["faulting_pages"], 3);
  EXPECT_EQ(find(events, "cat", "fault")["args"]["bytes"], 65536);
  EXPECT_EQ(find(events, "cat", "fault")["args"]["address"], "0x7f0000001000");
  EXPECT_EQ(find(events, "cat", "eviction")["ph"], "i");
  EXPECT_EQ(find(events, "cat", "range")["name"], "iteration 0");
  EXPECT_FALSE(find(events, "cat", "cpu fault").is_null());
  EXPECT_FALSE(find(events, "cat", "remote map").is_null());
  EXPECT_FALSE(find(events, "cat", "thrashing").is_null());
}

TEST(Timeline, DirectionsAndDevicesHaveTheirOwnTracks) {
  const ScratchFolder folder;
  Timeline timeline(folder.path("t.json"));
  emit_one_of_each(timeline);
  timeline.finish();
  const auto events = nlohmann::json::parse(folder.read("t.json"));
  const auto in = find(events, "cat", "fault");
  const auto out = find(events, "cat", "evict");
  EXPECT_NE(in["pid"], out["pid"]);
  EXPECT_NE(in["tid"], out["tid"]);
  std::size_t threads = 0;
  for (const auto& event : events) {
    if (event["name"] == "thread_name" && event["args"]["name"] == "migration DtoH") ++threads;
  }
  EXPECT_EQ(threads, 1u);
}

TEST(Timeline, OneResidencySamplePerInterval) {
  const ScratchFolder folder;
  Timeline timeline(folder.path("t.json"));
  emit_one_of_each(timeline);
  timeline.finish();
  std::vector<std::uint64_t> samples;
  for (const auto& event : nlohmann::json::parse(folder.read("t.json"))) {
    if (event["ph"] == "C") samples.push_back(event["args"]["resident_bytes"]);
  }
  EXPECT_THAT(samples, ::testing::ElementsAre(65536, 131072));
}

TEST(Timeline, FaultBatchesDoNotOverlap) {
  const ScratchFolder folder;
  Timeline timeline(folder.path("t.json"));
  FaultBatchEvent batch{};
  batch.end = Nanoseconds(5000);
  timeline.on(batch);
  batch.start = Nanoseconds(4000);  // arrived while the first was served
  batch.end = Nanoseconds(9000);
  timeline.on(batch);
  timeline.finish();
  std::vector<double> starts;
  for (const auto& event : nlohmann::json::parse(folder.read("t.json"))) {
    if (event["ph"] == "X") starts.push_back(event["ts"]);
  }
  EXPECT_THAT(starts, ::testing::ElementsAre(0.0, 5.0));
}

TEST(Timeline, NamesFromATraceCannotBreakTheFile) {
  const ScratchFolder folder;
  Timeline timeline(folder.path("t.json"));
  timeline.on(KernelEvent{"\"}]\n\\ \xff\xfe", 0, 0, Nanoseconds(0), Nanoseconds(1)});
  timeline.on(RangeEvent{std::string_view("a\0b", 3), Nanoseconds(-5), Nanoseconds(1)});
  timeline.finish();
  EXPECT_TRUE(nlohmann::json::accept(folder.read("t.json")));
}

TEST(Timeline, EmptyRunIsAnEmptyArray) {
  const ScratchFolder folder;
  Timeline timeline(folder.path("t.json"));
  timeline.finish();
  EXPECT_EQ(nlohmann::json::parse(folder.read("t.json")).size(), 0u);
}

TEST(Timeline, UnfinishedLeavesNoFile) {
  const ScratchFolder folder;
  {
    Timeline timeline(folder.path("t.json"));
    emit_one_of_each(timeline);
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(Timeline, UnwritableTargetIsKnownAtOnce) {
  const ScratchFolder folder;
  EXPECT_THROW(Timeline(folder.path("no/t.json")), InputError);
}

}  // namespace
}  // namespace uvmsim::report
