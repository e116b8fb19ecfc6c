// SPDX-License-Identifier: Apache-2.0
// The parts of uvm_experiments that need no GPU: the list, the budget, the lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/validate/experiment.h"
#include "tracer/ground_truth/experiment.h"
#include "tracer/ground_truth/fault_experiments.h"
#include "tracer/ground_truth/host_speed.h"
#include "tracer/ground_truth/managed_budget.h"
#include "tracer/ground_truth/measurement.h"
#include "tracer/ground_truth/observer.h"
#include "tracer/ground_truth/oversubscription.h"

namespace uvmtrace::ground_truth {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::uint64_t kBase = 0x7f0000200000;

// Returns the records of a driver without prefetching: one batch and one copy per touch of host data.
Measurement plausible(const Experiment& experiment) {
  Measurement measurement;
  measurement.base = kBase;
  measurement.begin_ns = 1000;
  std::uint64_t now = 2000;
  const bool by_prefetch = mode_text(experiment) == "prefetch";
  for (std::uint32_t round = 0; !by_prefetch && round < experiment.rounds; ++round) {
    measurement.recording.kernels.push_back({now, now + 100});
    now += 1000;
  }
  for (const ByteRange& range : experiment.host_populated) {
    measurement.recording.counters.push_back(
        {CounterKind::kHostToDevice, now, now + 10, kBase + range.offset, range.bytes, 2});
    now += 20;
  }
  if (by_prefetch && measurement.recording.counters.empty()) {
    measurement.recording.counters.push_back({CounterKind::kHostToDevice, now, now + 10, kBase, 4096, 1});
  }
  measurement.native_ns = by_prefetch ? 0 : 99;
  return measurement;
}

TEST(FaultExperiments, HaveNamesOfTheirOwnAndStayWithinTheirMemory) {
  for (const std::uint32_t sms : {2u, 15u, 132u, 148u}) {
    const std::vector<FaultExperiment> list = fault_experiments(sms, false);
    std::set<std::string> names;
    for (const FaultExperiment& experiment : list) {
      EXPECT_TRUE(names.insert(experiment.name).second || sms < 64) << experiment.name;
      EXPECT_LE(touched_bytes(experiment), experiment.bytes) << experiment.name;
      EXPECT_LE(experiment.bytes, 256u << 20) << experiment.name;
      EXPECT_EQ(experiment.bytes % (2 << 20), 0u) << experiment.name;
      EXPECT_GE(experiment.grid, 1u) << experiment.name;
      EXPECT_LE(experiment.threads, 1024u) << experiment.name;
    }
    EXPECT_GE(list.size(), 250u);
    EXPECT_EQ(fault_experiments(sms, true).size(), (list.size() + 7) / 8);
  }
}

TEST(FaultExperiments, BytesThatAreTouched) {
  FaultExperiment one;
  one.grid = 2;
  one.threads = 64;
  one.pitch = 4096;
  EXPECT_EQ(touched_bytes(one), 127u * 4096 + 4);
  one.pattern = FaultPattern::kBurst;
  one.access_bytes = 16;
  one.steps = 4;
  one.warp_pitch = 65536;
  EXPECT_EQ(touched_bytes(one), 3u * 65536 + 3 * 4096 + 512);
}

TEST(ExperimentList, IsTheSameForTheSameOptionsAndHasItsKinds) {
  const std::vector<Experiment> list = default_experiments({});
  const std::vector<Experiment> again = default_experiments({});
  ASSERT_EQ(list.size(), again.size());
  EXPECT_GE(list.size(), 90u);
  std::set<std::string> names, modes;
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_TRUE(names.insert(list[i].name).second) << list[i].name;
    modes.insert(mode_text(list[i]));
    EXPECT_EQ(to_line(list[i], plausible(list[i]), 1), to_line(again[i], plausible(again[i]), 1));
    EXPECT_LE(list[i].bytes, kGiB / 4) << list[i].name;
  }
  EXPECT_THAT(modes, ::testing::UnorderedElementsAre("ordered", "parallel1", "parallel32", "parallel256", "stream_rd",
                                                     "stream_wr", "vadd", "cpu", "prefetch"));
}

TEST(ExperimentList, OtherSeedsGiveOtherTouchesUnderOtherNames) {
  ListOptions other;
  other.seed = 1000;
  const std::vector<Experiment> first = default_experiments({}), second = default_experiments(other);
  ASSERT_EQ(first.size(), second.size());
  std::size_t different = 0;
  for (std::size_t i = 0; i < first.size(); ++i) different += first[i].name != second[i].name ? 1 : 0;
  EXPECT_EQ(different, 20u);  // 7 permutations, 7 random lists, 6 parallel ones
}

TEST(ExperimentList, PeersHaveMemoryElsewhereAndNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Experiment& experiment : default_experiments({})) {
    names.insert(experiment.name);
    EXPECT_TRUE(experiment.peer_resident.empty()) << experiment.name;
  }
  const std::vector<Experiment> list = peer_experiments({});
  EXPECT_GE(list.size(), 40u);
  for (const Experiment& experiment : list) {
    EXPECT_TRUE(names.insert(experiment.name).second) << experiment.name;
    EXPECT_FALSE(experiment.peer_resident.empty()) << experiment.name;
    EXPECT_LE(experiment.bytes, kGiB / 4) << experiment.name;
  }
}

TEST(ExperimentList, QuickIsSmall) {
  ListOptions quick;
  quick.quick = true;
  const std::vector<Experiment> list = default_experiments(quick);
  EXPECT_GE(list.size(), 5u);
  EXPECT_LE(list.size(), 15u);
  for (const Experiment& experiment : list) EXPECT_LE(experiment.bytes, std::uint64_t{16} << 20);
}

// `uvmsim validate` reads the line of every experiment, and the line describes the run.
TEST(Lines, AreTheFormatOfValidate) {
  std::string file;
  std::vector<Experiment> list = default_experiments({});
  for (Experiment& experiment : peer_experiments({})) list.push_back(std::move(experiment));
  for (const Experiment& experiment : list) file += to_line(experiment, plausible(experiment), 1);
  const uvmsim::validate::ExperimentFile read = uvmsim::validate::parse_experiments(file, "list");
  EXPECT_THAT(read.warnings, ::testing::IsEmpty());
  ASSERT_EQ(read.experiments.size(), list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const uvmsim::validate::Experiment& seen = read.experiments[i];
    EXPECT_EQ(seen.name, list[i].name);
    EXPECT_EQ(seen.allocations.at(0).bytes, list[i].bytes);
    EXPECT_EQ(seen.host_populated.size(), list[i].host_populated.size());
    EXPECT_EQ(seen.gpu_resident.size(), list[i].gpu_resident.size());
    EXPECT_EQ(seen.peer_resident.size(), list[i].peer_resident.size());
    EXPECT_EQ(seen.advice.empty(), list[i].advise == "none");
    EXPECT_EQ(seen.grid_blocks, list[i].grid) << seen.name;
    EXPECT_EQ(seen.loop_threads, list[i].loop_threads) << seen.name;
    EXPECT_EQ(seen.access_bytes, list[i].access_bytes) << seen.name;
    if (list[i].mode == Mode::kOrdered || list[i].mode == Mode::kParallel) {
      ASSERT_EQ(seen.touches.size(), list[i].touches.size());
    }
    for (const auto& kernel : seen.kernels) EXPECT_EQ(kernel.native_ns, 99);
  }
}

TEST(Lines, TimesCountFromTheFirstEventAndPreparationIsLeftOut) {
  Experiment experiment;
  experiment.name = "x";
  experiment.bytes = 8192;
  experiment.host_populated = {{0, 8192}};
  experiment.touches = {{0, false}, {1, true}};
  Measurement measurement;
  measurement.base = kBase + 4096;
  measurement.begin_ns = 5000;
  measurement.recording.kernels = {{4000, 4500}, {6000, 9000}};
  measurement.recording.counters = {
      {CounterKind::kCpuFault, 4900, 0, kBase + 4096, 77, 2},  // belongs to the preparation
      {CounterKind::kHostToDevice, 6500, 6600, kBase + 8192, 4096, 3},
      {CounterKind::kGpuFault, 6100, 6700, kBase + 4096, 1, 1},
      {CounterKind::kThrottling, 6150, 6700, kBase + 4096, 1, 1},  // not part of the format
      {CounterKind::kRemoteMap, 6800, 0, kBase + 4096, 4096, 3},
      {CounterKind::kGpuFault, 6100, 6700, kBase + 64 * kBlockBytes, 1, 1},  // concerns other memory
  };
  measurement.native_ns = 12;
  EXPECT_EQ(to_line(experiment, measurement, 2),
            "{\"name\":\"x_rep2\",\"mode\":\"ordered\",\"bytes\":8192,\"va_offset_in_2m\":4096,\"advise\":\"none\","
            "\"host_populated\":[[0,8192]],\"gpu_resident\":[],\"touches\":[[0,\"r\"],[1,\"w\"]],\"native_ns\":12,"
            "\"events\":[[\"kernel\",0,3000,-1,0,0],[\"gpu_fault\",100,700,0,1,1],[\"htod\",500,600,4096,4096,3],"
            "[\"remote_map\",800,0,0,4096,3]]}\n");
}

// The line also has the times of the runs without a listener, before the events; validate judges by their median.
TEST(Lines, HaveTheTimesOfRunsThatNobodyWatched) {
  Experiment experiment = default_experiments({}).front();
  Measurement measurement = plausible(experiment);
  measurement.unobserved = {{30000, 10000, 20000}, {}, to_json(HostSpeed{"a \"fast\" CPU", 500, 90000, 300000})};
  const std::string with = to_line(experiment, measurement, 1);
  EXPECT_THAT(with,
              ::testing::HasSubstr("\"unobserved\":{\"kernel_ns\":[30000,10000,20000],\"host\":{\"cpu\":\"a fast "
                                   "CPU\",\"step_ps\":500,\"chase_ps\":90000,\"page_touch_ps\":300000}},\"events\""));
  const std::string times_only = to_line_of_times(experiment, measurement, 1);
  EXPECT_THAT(times_only, ::testing::Not(::testing::HasSubstr("events")));
  const auto read = uvmsim::validate::parse_experiments(with + times_only, "lines");
  EXPECT_THAT(read.warnings, ::testing::IsEmpty());
  ASSERT_EQ(read.experiments.size(), 2u);
  for (const auto& seen : read.experiments) {
    ASSERT_TRUE(seen.unobserved);
    EXPECT_THAT(seen.unobserved->kernel_ns, ::testing::ElementsAre(30000, 10000, 20000));
    EXPECT_EQ(seen.unobserved->host->chase_ps, 90000u);
  }
  EXPECT_TRUE(read.experiments[0].has_contents);
  EXPECT_FALSE(read.experiments[1].has_contents);
  EXPECT_EQ(read.experiments[1].kernels.at(0).end_ns, 20000);
}

TEST(HostSpeed, IsMeasuredWithoutAGpu) {
  const HostSpeed speed = measure_host_speed();
  EXPECT_GT(speed.step_ps, 0u);
  EXPECT_GT(speed.chase_ps, speed.step_ps) << "a load from memory takes longer than a multiplication";
  EXPECT_GT(speed.page_touch_ps, speed.step_ps);
}

// A worker runs its requests in a process of its own, reports why one fails, and ends when it is no longer needed.
TEST(Workers, AnswerFromTheirOwnProcess) {
  int made_here = 0;
  Worker worker(Observer::kNobody, [&](Observer observer) -> Worker::RunOne {
    return [&made_here, observer](std::size_t i) {
      if (i == 7) throw Refusal("seven is too large");
      ++made_here;
      return Timing{static_cast<std::uint64_t>(100 * i),  static_cast<std::uint64_t>(observer), 0, 0, 0,
                    static_cast<std::uint64_t>(made_here)};
    };
  });
  worker.wait_until_open();
  EXPECT_EQ(worker.run(3).kernel_ns, 300u);
  EXPECT_THROW(worker.run(7), Refusal);
  EXPECT_EQ(worker.run(4).dropped, 2u) << "the child's count";
  EXPECT_EQ(made_here, 0) << "this process ran nothing";
}

TEST(Workers, ThatCannotOpenSayWhy) {
  Worker worker(Observer::kCupti, [](Observer) -> Worker::RunOne { throw std::runtime_error("no GPU here"); });
  try {
    worker.wait_until_open();
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "cupti: no GPU here");
  }
  EXPECT_THROW(worker.run(0), std::runtime_error);
}

TEST(Defects, DroppedOrMissingRecordsAreSeen) {
  for (const Experiment& experiment : default_experiments({})) {
    Measurement measurement = plausible(experiment);
    EXPECT_EQ(defect(experiment, measurement), "") << experiment.name;
    measurement.recording.dropped = 3;
    EXPECT_EQ(defect(experiment, measurement), "CUPTI dropped 3 records");
    measurement.recording.dropped = 0;
    const bool by_prefetch = mode_text(experiment) == "prefetch";
    if (!by_prefetch) {
      measurement.recording.kernels.pop_back();
      EXPECT_THAT(defect(experiment, measurement), ::testing::HasSubstr("kernels were recorded"));
    }
    if (experiment.mode == Mode::kStreamRead) {
      measurement = plausible(experiment);
      measurement.recording.counters.clear();
      EXPECT_THAT(defect(experiment, measurement), ::testing::HasSubstr("only 0 of"));
    }
  }
}

TEST(Budget, AQuarterByDefaultNeverMoreThanHalf) {
  const ManagedBudget quarter;
  EXPECT_EQ(quarter.refusal(1 * kGiB, 8 * kGiB, 64 * kGiB), "");
  EXPECT_THAT(quarter.refusal(3 * kGiB, 8 * kGiB, 64 * kGiB), ::testing::HasSubstr("more than 25 %"));
  const ManagedBudget greedy(100);
  EXPECT_EQ(greedy.refusal(4 * kGiB - 64, 8 * kGiB, 64 * kGiB), "");
  EXPECT_THAT(greedy.refusal(4 * kGiB + 1, 8 * kGiB, 64 * kGiB), ::testing::HasSubstr("more than 50 %"));
  EXPECT_THAT(greedy.refusal(UINT64_MAX, UINT64_MAX, UINT64_MAX), ::testing::HasSubstr("more than"));
  EXPECT_THAT(ManagedBudget(0).refusal(1 * kGiB, 8 * kGiB, 64 * kGiB), ::testing::HasSubstr("more than 1 %"));
}

TEST(Budget, WhatIsInUseCounts) {
  ManagedBudget budget;
  budget.allocated(kGiB);
  EXPECT_THAT(budget.refusal(kGiB + 1, 8 * kGiB, 64 * kGiB), ::testing::HasSubstr("are in use"));
  EXPECT_NE(budget.refusal(1, 4 * kGiB, 64 * kGiB), "");
  budget.freed(kGiB);
  EXPECT_EQ(budget.refusal(1, 4 * kGiB, 64 * kGiB), "");
  budget.freed(kGiB);
  EXPECT_EQ(budget.live_bytes(), 0u);
}

TEST(Budget, TheHostsMemoryCountsToo) {
  EXPECT_THAT(ManagedBudget().refusal(kGiB, 64 * kGiB, kGiB), ::testing::HasSubstr("the host has free"));
}

TEST(Oversubscription, NeedsASecondFlagAndNamesTheRisk) {
  EXPECT_EQ(oversubscription_refusal(true), "");
  const std::string refusal = oversubscription_refusal(false);
  for (const char* word : {"--oversubscribe", "--i-know-this-can-hang-the-gpu", "hangs", "share"}) {
    EXPECT_THAT(refusal, ::testing::HasSubstr(word));
  }
  EXPECT_THAT(refusal, ::testing::Not(::testing::HasSubstr("\n")));
}

TEST(Oversubscription, EveryProgramOnceWithinMemoryAndOnceBeyondIt) {
  const std::vector<BeyondRun> runs = beyond_runs(16 * kGiB, 1);
  ASSERT_EQ(runs.size(), 12u);
  std::set<std::string> names;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_TRUE(names.insert(runs[i].name).second);
    const bool beyond = i % 2 == 1;
    EXPECT_EQ(runs[i].bytes() > 16 * kGiB, beyond) << runs[i].name;
    EXPECT_LE(runs[i].bytes(), 21 * kGiB) << runs[i].name;
    EXPECT_EQ(runs[i].array_bytes % kBlockBytes, 0u) << runs[i].name;
    EXPECT_EQ(runs[i].cold_run, beyond ? runs[i - 1].name : "");
  }
}

TEST(Oversubscription, TheHostMustHoldItTwice) {
  const BeyondRun run = beyond_runs(16 * kGiB, 1).at(1);
  EXPECT_EQ(host_refusal(run, 2 * run.bytes()), "");
  EXPECT_THAT(host_refusal(run, 2 * run.bytes() - 2), ::testing::HasSubstr("the host has free"));
  EXPECT_THAT(host_refusal(beyond_runs(1000, 1).at(0), kGiB), ::testing::HasSubstr("too little memory"));
}

// `uvmsim validate` reads the line of every run, which has the sums of the recorded events.
TEST(Oversubscription, LinesAreTheFormatOfValidate) {
  const std::vector<BeyondRun> runs = beyond_runs(16 * kGiB, 7);
  std::string file;
  for (const BeyondRun& run : runs) {
    BeyondMeasurement measurement;
    measurement.preparation.counters = {{CounterKind::kCpuFault, 1, 0, kBase, 1, 2}};
    Recording step;
    step.kernels = {{100, 400}, {500, 600}};
    step.counters = {{CounterKind::kHostToDevice, 110, 120, kBase, 4096, 2},
                     {CounterKind::kHostToDevice, 120, 150, kBase + 4096, 61440, 3},
                     {CounterKind::kDeviceToHost, 130, 190, kBase, kBlockBytes, 4},
                     {CounterKind::kGpuFault, 105, 160, kBase, 1, 1}};
    measurement.steps.assign(run.steps * run.rounds, step);
    measurement.steps.back().dropped = run.growing ? 1 : 0;
    file += to_line(run, measurement);
  }
  const uvmsim::validate::ExperimentFile read = uvmsim::validate::parse_experiments(file, "list");
  EXPECT_THAT(read.warnings, ::testing::IsEmpty());
  ASSERT_EQ(read.experiments.size(), runs.size());
  namespace figure = uvmsim::validate::figure;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const uvmsim::validate::Experiment& seen = read.experiments[i];
    ASSERT_TRUE(seen.campaign) << seen.name;
    const uvmsim::validate::Campaign& campaign = *seen.campaign;
    EXPECT_EQ(seen.name, runs[i].name);
    EXPECT_EQ(campaign.footprint_bytes(), runs[i].bytes());
    EXPECT_EQ(campaign.pages_per_block, runs[i].pages_per_block);
    EXPECT_EQ(campaign.growing, runs[i].growing);
    EXPECT_EQ(campaign.random_order, runs[i].random_order);
    ASSERT_EQ(campaign.published.size(), runs[i].steps * runs[i].rounds);
    const auto& figures = campaign.published[0].figures;
    EXPECT_EQ(figures[figure::kTime], 400u);
    EXPECT_EQ(figures[figure::kBytesIn], 65536u);
    EXPECT_EQ(figures[figure::kFaultBytesIn], 4096u);
    EXPECT_EQ(figures[figure::kEvictedBytes], kBlockBytes);
    EXPECT_EQ(figures[figure::kCopyInTime], 40u);
    EXPECT_EQ(figures[figure::kFaultBatches], 1u);
    EXPECT_EQ(campaign.published.back().lost_records, runs[i].growing);
    if (runs[i].growing) {
      EXPECT_FALSE(campaign.published_total[figure::kCpuFaults]) << "no sums of what is not whole";
    } else {
      EXPECT_EQ(campaign.published_total[figure::kCpuFaults], 1u);
    }
  }
}

}  // namespace
}  // namespace uvmtrace::ground_truth
