// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/common/wildcard.h"
#include "sim/config/load_system.h"
#include "sim/validate/validation.h"

namespace uvmsim::validate {
namespace {

Experiment experiment_of(Mode mode, std::int64_t kernel_ns) {
  Experiment experiment;
  experiment.name = "x";
  experiment.mode = mode;
  experiment.allocations.push_back({"data", false, {}, 1 << 24, 0});
  experiment.kernels.emplace_back().end_ns = kernel_ns;
  return experiment;
}

ObservedTransfer transfer(TransferCause cause, std::int64_t offset, std::uint64_t bytes) {
  ObservedTransfer result;
  result.cause = cause;
  result.offset = offset;
  result.bytes = bytes;
  return result;
}

Observation two_faults(std::int64_t first_ns, std::int64_t kernel_ns) {
  Observation seen;
  seen.batches = {{0, first_ns, 0, 0}, {first_ns, first_ns + 30000, 65536, 0}};
  seen.transfers = {transfer(TransferCause::kFault, 0, 4096), transfer(TransferCause::kPrefetch, 4096, 61440),
                    transfer(TransferCause::kFault, 65536, 4096)};
  seen.kernel_ns = kernel_ns;
  return seen;
}

config::SystemConfig system_with_startup(std::uint64_t first_fault_ns) {
  config::SystemConfig system;
  system.costs.first_fault_ns = first_fault_ns;
  return system;
}

std::vector<std::string> checks(const std::vector<Failure>& failures) {
  std::vector<std::string> names;
  for (const Failure& failure : failures) names.push_back(failure.check);
  return names;
}

TEST(Compare, OrderedSetsTheStartUpAside) {
  const Experiment experiment = experiment_of(Mode::kOrdered, 470000);
  // The measured start-up is 370 us longer than the 35 us of a batch; the model's is 250 us longer.
  const Comparison result = compare(experiment, two_faults(405000, 470000), two_faults(285000, 345000),
                                    system_with_startup(250000), TimeBasis::kObserved, Tolerances{});
  EXPECT_TRUE(result.exact());
  EXPECT_EQ(result.time_ns.measured, 100000u);
  EXPECT_EQ(result.time_ns.simulated, 95000u);
  EXPECT_EQ(result.kernel_ns.measured, 470000u);
  EXPECT_TRUE(result.within());
}

TEST(Compare, OrderedWantsTheSamePagesAndTransactionsOneByOne) {
  const Experiment experiment = experiment_of(Mode::kOrdered, 100000);
  Observation simulated = two_faults(40000, 100000);
  std::swap(simulated.batches[0].offset, simulated.batches[1].offset);
  simulated.transfers[2].offset = 69632;
  const Comparison result = compare(experiment, two_faults(40000, 100000), simulated, system_with_startup(0),
                                    TimeBasis::kObserved, Tolerances{});
  EXPECT_THAT(checks(result.failures), ::testing::ElementsAre("pages", "transactions"));
  EXPECT_FALSE(result.exact());
}

TEST(Compare, ParallelHasTolerancesForCounts) {
  const Experiment experiment = experiment_of(Mode::kStreamRead, 100000);
  Observation simulated = two_faults(40000, 124000);
  simulated.transfers[1].bytes += 4096;
  simulated.batches.push_back(simulated.batches[1]);
  const Comparison result = compare(experiment, two_faults(40000, 100000), simulated, system_with_startup(250000),
                                    TimeBasis::kObserved, Tolerances{});
  EXPECT_THAT(checks(result.failures), ::testing::ElementsAre("bytes in", "batches")) << "5.9 % and 50 %";
  Tolerances loose;
  loose.parallel_bytes = 6;
  loose.parallel_batches = 50;
  EXPECT_TRUE(
      compare(experiment, two_faults(40000, 100000), simulated, system_with_startup(0), TimeBasis::kObserved, loose)
          .within());
}

Experiment watched_and_not(Mode mode, std::vector<std::int64_t> runs_ns) {
  Experiment experiment = experiment_of(mode, 100000);
  experiment.unobserved = UnobservedTimes{std::move(runs_ns), {}, {}, {}};
  return experiment;
}

// The contents of batches come from the observed run, the time from the others: their median, without setting the
// start-up aside.
TEST(Compare, TimeIsTheMedianOfTheRunsThatNobodyWatched) {
  const Experiment experiment = watched_and_not(Mode::kOrdered, {64000, 40000, 60000, 61000, 90000});
  ASSERT_EQ(time_basis(experiment, false), TimeBasis::kUnobserved);
  const Comparison result = compare(experiment, two_faults(40000, 100000), two_faults(40000, 66000),
                                    system_with_startup(30000), TimeBasis::kUnobserved, Tolerances{});
  EXPECT_EQ(result.time_ns.measured, 61000u);
  EXPECT_EQ(result.time_ns.simulated, 66000u);
  EXPECT_EQ(result.runs, 5u);
  EXPECT_EQ(result.lower_ns, 60000u);
  EXPECT_EQ(result.upper_ns, 64000u);
  EXPECT_TRUE(result.exact());
}

TEST(Compare, ObservedTimesAreComparedWithAModelThatHasAListener) {
  const Experiment old = experiment_of(Mode::kOrdered, 100000);
  EXPECT_EQ(time_basis(old, false), TimeBasis::kObserved);
  EXPECT_EQ(time_basis(watched_and_not(Mode::kOrdered, {1}), true), TimeBasis::kObserved);
  EXPECT_TRUE(judged_system({}, TimeBasis::kObserved).listener.present);
  EXPECT_FALSE(judged_system({}, TimeBasis::kUnobserved).listener.present);
}

TEST(Compare, WhatBatchesHeldIsComparedIfItWasMeasured) {
  Experiment experiment = experiment_of(Mode::kParallel, 100000);
  Observation measured = two_faults(30000, 100000), simulated = measured;
  simulated.raw = RawContents{200, 100, 50, 25};
  const auto compared = [&] { return compare(experiment, measured, simulated, {}, TimeBasis::kObserved, {}); };
  EXPECT_EQ(compared().raw_faults.simulated, 0u);
  measured.raw = RawContents{180, 90, 60, 25};
  const Comparison result = compared();
  EXPECT_EQ(result.raw_faults.measured, 180u);
  EXPECT_EQ(result.raw_faults_per_batch.simulated, 100u);
  EXPECT_EQ(result.pages_per_batch.measured, 60u);
  EXPECT_TRUE(result.sms_per_batch.equal());
  EXPECT_EQ(result.raising_ns_per_batch.simulated, 0u);
  EXPECT_FALSE(result.page_order);
  measured.raw->raising_ns_per_batch = 2000;
  measured.raw->page_order = {{0, 1, 2, 3, 4, 5, 6, 7}};
  simulated.raw->raising_ns_per_batch = 1500;
  simulated.raw->page_order = {{0}, {1, 2, 3, 4, 5, 6, 7}};
  EXPECT_EQ(compared().raising_ns_per_batch.measured, 2000u);
  EXPECT_EQ(compared().raising_ns_per_batch.simulated, 1500u);
  EXPECT_DOUBLE_EQ(compared().page_order.value().all, 1);
}

// The program uses one block, with each lane on a page of its own.
TEST(Validation, TellsWhatTheModelsBatchesHold) {
  std::string touches;
  for (int page = 0; page < 64; ++page) touches += (page == 0 ? "[" : ",[") + std::to_string(page) + ",\"w\"]";
  const std::string line =
      R"({"name":"one_block","mode":"parallel64","bytes":2097152,"va_offset_in_2m":0,"advise":"none","host_populated":[],)"
      R"("gpu_resident":[],"touches":[)" +
      touches +
      R"(],"raw":{"raw_faults":64,"raw_faults_per_batch":64,"pages_per_batch":64,"sms_per_batch":1},)"
      R"("events":[["kernel",0,100000,0,0,0]]})";
  const Validation validation =
      validate({parse_experiments(line, "mine.jsonl")}, config::load_system("h200-sxm-pcie5"), {});
  const Comparison& result = validation.comparisons.at(0);
  EXPECT_EQ(result.sms_per_batch.simulated, 1u);
  EXPECT_GE(result.raw_faults.simulated, result.raw_faults_per_batch.simulated);
  EXPECT_GE(result.raw_faults_per_batch.simulated, result.pages_per_batch.simulated);
  EXPECT_GT(result.pages_per_batch.simulated, 0u);
}

// One warp, whose lanes take pages of their own in turn. The GPU takes 20.4 ns for a raw fault.
TEST(Validation, TellsTheOrderOfTheModelsRawFaultsAndTheirTime) {
  const auto validated = [](const std::string& order) {
    std::string touches;
    for (int page = 0; page < 32; ++page) touches += (page == 0 ? "[" : ",[") + std::to_string(page) + ",\"w\"]";
    const std::string line =
        R"({"name":"one_warp","mode":"parallel32","bytes":2097152,"va_offset_in_2m":0,"advise":"none",)"
        R"("host_populated":[],"gpu_resident":[],"touches":[)" +
        touches +
        R"(],"raw":{"raw_faults":32,"raw_faults_per_batch":32,"pages_per_batch":32,"sms_per_batch":1,)"
        R"("raising_ns_per_batch":640,"page_order":)" +
        order + R"(},"events":[["kernel",0,100000,0,0,0]]})";
    return validate({parse_experiments(line, "mine.jsonl")}, config::load_system("h200-sxm-pcie5"), {});
  };
  std::string forward = "0", backward = "0";
  for (int page = 1; page < 32; ++page) {
    forward += "," + std::to_string(page);
    backward = std::to_string(page) + "," + backward;
  }
  const Validation validation = validated("[[" + forward + "]]");
  const Comparison& result = validation.comparisons.at(0);
  ASSERT_EQ(result.raw_faults_per_batch.simulated, 32u);
  EXPECT_NEAR(static_cast<double>(result.raising_ns_per_batch.simulated), 31 * 20.4, 1);
  EXPECT_EQ(result.page_order.value().pages, 32u);
  EXPECT_DOUBLE_EQ(result.page_order.value().all, 1);
  EXPECT_DOUBLE_EQ(validated("[[" + backward + "]]").comparisons.at(0).page_order.value().all, -1);
}

TEST(Compare, WithoutContentsOnlyTimeIsJudged) {
  Experiment experiment = watched_and_not(Mode::kStreamRead, {100000});
  experiment.has_contents = false;
  const auto judged = [&](std::int64_t simulated_ns) {
    return compare(experiment, Observation{}, two_faults(40000, simulated_ns), {}, TimeBasis::kUnobserved,
                   Tolerances{});
  };
  EXPECT_TRUE(judged(120000).within());
  EXPECT_THAT(checks(judged(140000).failures), ::testing::ElementsAre("time"));
}

TEST(Compare, AWholeCallHasItsLaunchAndTheAllocationOfItsOutputs) {
  Experiment experiment = experiment_of(Mode::kLibrary, 100000);
  experiment.allocations[0].output = true;
  experiment.unobserved = UnobservedTimes{{}, {}, {150000, 110000, 130000}, {}};
  config::SystemConfig system;
  system.runtime.launch_ns = 3000;
  system.runtime.allocate_ns = 7000;
  system.runtime.allocate_ns_per_gib = 0;
  const Comparison result = compare(experiment, two_faults(40000, 100000), two_faults(40000, 100000), system,
                                    TimeBasis::kUnobserved, Tolerances{});
  EXPECT_EQ(result.time_ns.measured, 130000u);
  EXPECT_EQ(result.time_ns.simulated, 110000u);
}

TEST(Compare, ErrorsAreRelativeToTheMeasuredValue) {
  EXPECT_DOUBLE_EQ(error_percent(200, 250), 25);
  EXPECT_DOUBLE_EQ(error_percent(200, 150), 25);
  EXPECT_DOUBLE_EQ(error_percent(0, 0), 0);
  EXPECT_DOUBLE_EQ(error_percent(0, 1), kUnboundedError);
}

TEST(Validation, WildcardsMatchWholeNames) {
  EXPECT_TRUE(matches("*", "anything"));
  EXPECT_TRUE(matches("seq_s*_r_host", "seq_s16_r_host"));
  EXPECT_FALSE(matches("seq_s*_r_host", "seq_s16_w_host"));
  EXPECT_TRUE(matches("s?", "s1"));
  EXPECT_FALSE(matches("s?", "s12"));
  EXPECT_TRUE(matches("*a*b", "xaxxbab"));
  EXPECT_FALSE(matches("", "x"));
}

}  // namespace
}  // namespace uvmsim::validate
