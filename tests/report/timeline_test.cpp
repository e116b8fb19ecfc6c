// SPDX-License-Identifier: Apache-2.0
#include "sim/report/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/common/error.h"
#include "sim/report/kernel_label.h"
#include "tests/report/scratch_folder.h"

namespace uvmsim::report {
namespace {

using ::testing::IsEmpty;

nlohmann::json events_of(const std::string& text) { return nlohmann::json::parse(text)["traceEvents"]; }

// The first event whose key has this value.
nlohmann::json find(const nlohmann::json& events, const char* key, const std::string& value) {
  for (const auto& event : events) {
    if (event.contains(key) && event[key] == value) return event;
  }
  return nullptr;
}

void emit_one_of_each(Timeline& timeline) {
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
  timeline.on(KernelEvent{"void gemm<float>(int)", 7, 0, Nanoseconds(1001), Nanoseconds(5001), Nanoseconds(1000)});
  timeline.on(RangeEvent{"iteration 0", Nanoseconds(0), Nanoseconds(9000)});
}

TEST(Timeline, HoldsTraceEvents) {
  const ScratchFolder folder;
  Timeline timeline(folder.path("t.json"));
  emit_one_of_each(timeline);
  timeline.finish(nullptr);
  const auto events = events_of(folder.read("t.json"));
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
  EXPECT_EQ(kernel["name"], "gemm");
  EXPECT_EQ(kernel["args"]["name"], "void gemm<float>(int)");
  EXPECT_DOUBLE_EQ(kernel["args"]["stall_us"].get<double>(), 3.0);
  EXPECT_EQ(kernel["args"]["fault_batches"], 1);
  EXPECT_EQ(kernel["args"]["htod_bytes"], 65536);
  EXPECT_EQ(kernel["args"]["dtoh_bytes"], 0) << "that was another GPU";
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
  timeline.finish(nullptr);
  const auto events = events_of(folder.read("t.json"));
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
  timeline.finish(nullptr);
  std::vector<std::uint64_t> samples;
  for (const auto& event : events_of(folder.read("t.json"))) {
    if (event["name"] == "residency") samples.push_back(event["args"]["resident_bytes"]);
  }
  EXPECT_THAT(samples, ::testing::ElementsAre(65536, 131072));
}

TEST(Timeline, FaultBatchesDoNotOverlap) {
  const ScratchFolder folder;
  Timeline timeline(folder.path("t.json"));
  FaultBatchEvent batch{};
  batch.end = Nanoseconds(5000);
  timeline.on(batch);
  batch.start = Nanoseconds(4000);  // arrived while the first batch was served
  batch.end = Nanoseconds(9000);
  timeline.on(batch);
  timeline.finish(nullptr);
  std::vector<double> starts;
  for (const auto& event : events_of(folder.read("t.json"))) {
    if (event["ph"] == "X") starts.push_back(event["ts"]);
  }
  EXPECT_THAT(starts, ::testing::ElementsAre(0.0, 5.0));
}

TEST(Timeline, NamesFromATraceCannotBreakTheFile) {
  const ScratchFolder folder;
  Timeline timeline(folder.path("t.json"));
  timeline.on(KernelEvent{"\"}]\n\\ \xff\xfe", 0, 0, Nanoseconds(0), Nanoseconds(1), Nanoseconds(1)});
  timeline.on(RangeEvent{std::string_view("a\0b", 3), Nanoseconds(-5), Nanoseconds(1)});
  timeline.finish(nullptr);
  EXPECT_TRUE(nlohmann::json::accept(folder.read("t.json")));
}

TEST(Timeline, EmptyRunHasNoEvents) {
  const ScratchFolder folder;
  Timeline timeline(folder.path("t.json"));
  timeline.finish(nullptr);
  EXPECT_EQ(events_of(folder.read("t.json")).size(), 0u);
}

TEST(Timeline, CountersOfLinksFaultsAndEvictionsPerMillisecond) {
  const ScratchFolder folder;
  Timeline timeline(folder.path("t.json"));
  emit_one_of_each(timeline);
  timeline.finish(nullptr);
  std::map<std::string, std::vector<double>> values;
  for (const auto& event : events_of(folder.read("t.json"))) {
    if (event["ph"] != "C") continue;
    for (const auto& [key, value] : event["args"].items()) {
      values[fmt::format("{} {} {}", event["pid"].dump(), event["name"].get<std::string>(), key)].push_back(value);
    }
  }
  EXPECT_THAT(values["2 links (GB/s) HtoD"], ::testing::ElementsAre(0.065536, 0));
  EXPECT_THAT(values["3 links (GB/s) DtoH"], ::testing::ElementsAre(2.097152, 0));
  EXPECT_THAT(values["2 raw faults per ms faults"], ::testing::ElementsAre(12, 0));
  EXPECT_THAT(values["3 evictions per ms chunks"], ::testing::ElementsAre(1, 0));
}

TEST(Timeline, SaysWhatMadeIt) {
  const ScratchFolder folder;
  Timeline timeline(folder.path("t.json"));
  RunRecord record;
  record.trace.name = "a.uvmt";
  record.provenance = {"uvmsim run a.uvmt", "m", "s"};
  timeline.finish(&record);
  const auto other = nlohmann::json::parse(folder.read("t.json"))["otherData"];
  EXPECT_EQ(other["command"], "uvmsim run a.uvmt");
  EXPECT_EQ(other["model_version"], "m");
  EXPECT_EQ(other["trace"], "a.uvmt");
}

TEST(Timeline, IsCompressedByItsName) {
  const ScratchFolder folder;
  for (const char* name : {"t.json", "t.json.gz"}) {
    Timeline timeline(folder.path(name));
    for (int i = 0; i < 2000; ++i) emit_one_of_each(timeline);
    timeline.finish(nullptr);
  }
  const std::string plain = folder.read("t.json"), packed = folder.read("t.json.gz");
  EXPECT_LT(packed.size() * 10, plain.size());
  ASSERT_EQ(std::system(("gzip -dc " + folder.path("t.json.gz") + " >" + folder.path("again")).c_str()), 0);
  EXPECT_TRUE(folder.read("again") == plain);
}

TEST(Timeline, AWindowHoldsWhatOverlapsIt) {
  const auto names = [](const TimelineWindow& window) {
    const ScratchFolder folder;
    Timeline timeline(folder.path("t.json"), window);
    for (std::int64_t i = 0; i < 4; ++i) {
      const auto at = [&](std::int64_t ns) { return Nanoseconds(100 * i + ns); };
      timeline.on(IterationEvent{static_cast<std::uint64_t>(i), true, at(0)});
      timeline.on(WorkStartEvent{WorkKind::kKernel, "k", 0, 0, 1, at(10), {}});
      timeline.on(CpuFaultEvent{at(20), at(30), 0, false});
      timeline.on(WorkEndEvent{0, at(90), Nanoseconds(1)});
      timeline.on(KernelEvent{fmt::format("k{}", i), 0, 0, at(10), at(90), Nanoseconds(1)});
      timeline.on(IterationEvent{static_cast<std::uint64_t>(i), false, at(99)});
    }
    timeline.finish(nullptr);
    std::string out;
    std::size_t faults = 0;
    for (const auto& event : events_of(folder.read("t.json"))) {
      if (event.value("cat", "") == "kernel") out += event["name"].get<std::string>() + " ";
      faults += event.value("cat", "") == "cpu fault";
    }
    return out + std::to_string(faults);
  };
  using By = TimelineWindow::By;
  EXPECT_EQ(names({}), "k0 k1 k2 k3 4");
  EXPECT_EQ(names({By::kIterations, 1, 2}), "k1 k2 2");
  EXPECT_EQ(names({By::kKernels, 2, 2}), "k1 1");
  EXPECT_EQ(names({By::kKernels, 3, 9}), "k2 k3 2");
  EXPECT_EQ(names({By::kTime, 150, 215}), "k1 k2 0");
}

TEST(KernelLabel, IsShort) {
  EXPECT_EQ(kernel_label("gemm"), "gemm");
  EXPECT_EQ(kernel_label("void at::native::(anonymous namespace)::add<float, std::array<char*, 2ul>>(int, float)"),
            "at::native::add");
  EXPECT_EQ(kernel_label("_ZN2at6native3addIfEEvi"), "at::native::add");
  // The name has 36 parts, each twice as long as the one before.
  std::string doubling = "_Z1f1AIiiES_IS0_S0_ES_IS1_S1_E";
  for (char last = '2'; last <= '9'; ++last) doubling += fmt::format("S_IS{0}_S{0}_E", last);
  for (char last = 'A'; last <= 'Z'; ++last) doubling += fmt::format("S_IS{0}_S{0}_E", last);
  EXPECT_EQ(kernel_label(doubling), doubling);
  EXPECT_EQ(kernel_label("operator<"), "operator<") << "nothing is lost where it cannot be told apart";
  EXPECT_EQ(kernel_label(""), "");
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
