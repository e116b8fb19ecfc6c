// SPDX-License-Identifier: Apache-2.0
// Tests of settling: with invented iterations, and with programs under a policy that learns late.
#include "sim/engine/settled.h"

#include <gtest/gtest.h>

#include <functional>

#include "sim/policy/registry.h"
#include "sim/report/run_record.h"
#include "tests/engine/program.h"
#include "tests/engine/random_training.h"

namespace uvmsim::settled_test {
namespace {

using engine::find_settled;
using engine::Settled;

std::vector<IterationResult> lasting(const std::vector<std::int64_t>& durations) {
  std::vector<IterationResult> iterations;
  Nanoseconds now{};
  for (const std::int64_t ns : durations) {
    iterations.emplace_back();
    iterations.back().index = iterations.size() - 1;
    iterations.back().begin = now;
    iterations.back().end = now = now + Nanoseconds(ns);
  }
  return iterations;
}

std::optional<Settled> settled(const std::vector<std::int64_t>& durations,
                               const std::optional<RecurringIterations>& recurring = {}) {
  return find_settled(lasting(durations), recurring);
}

// Returns after how many iterations of `duration(i)` the run is known to be settled; 0 if it never is.
std::size_t known_after(const std::function<std::int64_t(std::size_t)>& duration, std::size_t most = 100) {
  std::vector<std::int64_t> durations;
  for (std::size_t i = 0; i < most; ++i) {
    durations.push_back(duration(i));
    if (settled(durations)) return i + 1;
  }
  return 0;
}

TEST(Settled, ALearnerOfSevenIterationsIsNotJudgedAfterThree) {
  // Seven iterations are all alike, until the policy's table holds enough; then it saves time.
  const auto late = [](std::size_t i) { return i < 7 ? 1000 : 400; };
  EXPECT_EQ(known_after(late), 7 + engine::kFewestAgreeing);
  // Each of seven iterations is faster than the previous one.
  const auto steady = [](std::size_t i) { return 1000 - 80 * static_cast<std::int64_t>(std::min<std::size_t>(i, 7)); };
  EXPECT_EQ(known_after(steady), 7 + engine::kFewestAgreeing);
  std::vector<std::int64_t> durations;
  for (std::size_t i = 0; i < 40; ++i) durations.push_back(late(i));
  const auto found = settled(durations);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, 7u);
  EXPECT_EQ(found->period, 1u);
  EXPECT_FALSE(found->exact);
}

TEST(Settled, IterationsThatTakeTurns) {
  const auto found = settled({3000, 2000, 1000, 1100, 1000, 1100, 1000, 1100, 1005, 1100});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, 2u);
  EXPECT_EQ(found->period, 2u);
  // Four iterations of different lengths repeat in a cycle: three rounds are enough.
  const std::int64_t lengths[] = {900, 1400, 1000, 1200};
  EXPECT_EQ(known_after([&](std::size_t i) { return lengths[i % 4]; }), 12u);
  EXPECT_EQ(known_after([](std::size_t i) { return 1000 + 100 * static_cast<std::int64_t>(i % 6); }), 18u);
  EXPECT_EQ(known_after([](std::size_t i) { return 1000 + 100 * static_cast<std::int64_t>(i % 9); }), 0u);
}

TEST(Settled, OfSeveralPeriodsTheShortest) {
  const auto found = settled(std::vector<std::int64_t>(40, 1000));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, 0u);
  EXPECT_EQ(found->period, 1u);
}

TEST(Settled, WhatNeverRestsIsSaidToBe) {
  EXPECT_EQ(known_after([](std::size_t i) { return 1000 + 30 * static_cast<std::int64_t>(i); }, 10), 0u);
  // Each differs by half a per cent: neighbours agree, but the first and the last of eight do not.
  double time = 1'000'000;
  EXPECT_EQ(known_after([&](std::size_t) { return static_cast<std::int64_t>(time *= 0.995); }), 0u);
  std::uint64_t seed = 1;
  EXPECT_EQ(known_after([&](std::size_t) {
              seed = seed * 6364136223846793005u + 1442695040888963407u;
              return 1000 + static_cast<std::int64_t>(seed >> 33) % 500;
            }),
            0u);
  EXPECT_FALSE(settled({}));
  EXPECT_FALSE(settled({1000}));
  EXPECT_FALSE(settled({1000, 1000, 1000}));
}

TEST(Settled, TimesAgreeWithinTwoPerCent) {
  std::vector<std::int64_t> durations(8, 1000);
  durations[3] = 1020;
  EXPECT_TRUE(settled(durations));
  durations[3] = 1021;
  EXPECT_FALSE(settled(durations));
  durations[3] = 980;
  EXPECT_TRUE(settled(durations));
  durations[3] = 979;
  EXPECT_FALSE(settled(durations));
}

// Returns whether eight iterations agree if the counter of one is `other`.
bool agree(std::uint64_t Counters::*counter, std::uint64_t most, std::uint64_t other) {
  std::vector<IterationResult> iterations = lasting(std::vector<std::int64_t>(8, 1000));
  for (IterationResult& iteration : iterations) iteration.counters.*counter = most;
  iterations[4].counters.*counter = other;
  return find_settled(iterations, {}).has_value();
}

TEST(Settled, CountsAgreeWithinFivePerCentOrSixteen) {
  for (const auto counter : {&Counters::fault_batches, &Counters::evictions}) {
    EXPECT_TRUE(agree(counter, 1000, 950));
    EXPECT_FALSE(agree(counter, 1000, 949));
    EXPECT_TRUE(agree(counter, 16, 0));
    EXPECT_FALSE(agree(counter, 17, 0));
  }
  EXPECT_TRUE(agree(&Counters::faulting_pages, 17 * kPagesPerBlock - 1, 0));
  EXPECT_FALSE(agree(&Counters::faulting_pages, 17 * kPagesPerBlock, 0));
  for (const auto counter : {&Counters::htod_fault_bytes, &Counters::htod_prefetch_bytes, &Counters::htod_user_bytes,
                             &Counters::htod_counter_bytes, &Counters::dtoh_fault_bytes, &Counters::dtoh_prefetch_bytes,
                             &Counters::dtoh_user_bytes, &Counters::dtoh_evict_bytes}) {
    EXPECT_TRUE(agree(counter, 1000 * kBlockBytes, 950 * kBlockBytes));
    EXPECT_FALSE(agree(counter, 1000 * kBlockBytes, 949 * kBlockBytes));
  }
  EXPECT_TRUE(agree(&Counters::replays, 1000, 0)) << "not one of those that are compared";
}

TEST(Settled, ARecurringStateIsProof) {
  // The third iteration began in the same state as the second one: all later ones are equal to these.
  const std::vector<std::int64_t> three = {3000, 2000, 1000};
  EXPECT_FALSE(settled(three));
  const auto found = settled(three, RecurringIterations{2, 1});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, 2u);
  EXPECT_TRUE(found->exact);
  // A period that has not completed is no proof.
  EXPECT_FALSE(settled({3000, 1000}, RecurringIterations{1, 2}));
  const auto two = settled({3000, 1000, 2000}, RecurringIterations{1, 2});
  ASSERT_TRUE(two);
  EXPECT_EQ(two->first, 1u);
  EXPECT_EQ(two->period, 2u);
  // Iterations before the period may agree too, as may those of a period with each other.
  const auto earlier = settled({3000, 1001, 1000, 1005}, RecurringIterations{2, 2});
  ASSERT_TRUE(earlier);
  EXPECT_EQ(earlier->first, 1u);
  EXPECT_EQ(earlier->period, 1u);
}

TEST(Settled, OnlyPassesOfOneIterationAreJudged) {
  RunResult result;
  result.iterations = lasting({500, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 700});
  EXPECT_FALSE(find_settled(result)) << "as recorded, the last one is another";
  result.first_repeated = 1;
  result.repeated = 8;
  const auto found = find_settled(result);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, 1u);
  const auto quoted = report::settled_iterations(result);
  ASSERT_TRUE(quoted);
  EXPECT_TRUE(quoted->is_settled);
  EXPECT_EQ(quoted->learning, 1u);
  EXPECT_EQ(quoted->last_index, 8u);
  EXPECT_EQ(report::settled_text(*quoted, 10), "settled after 1 of 10 iterations");
  result.recurring = {3, 1};
  EXPECT_EQ(report::settled_text(*report::settled_iterations(result), 10), "settled after 1 of 10 iterations, exactly");
}

TEST(Settled, WholePeriodsAreQuoted) {
  RunResult result;
  result.iterations = lasting({5000, 1000, 2000, 1000, 2000, 1000, 2000, 1000, 2000, 1000});
  const auto quoted = report::settled_iterations(result);
  ASSERT_TRUE(quoted);
  EXPECT_EQ(quoted->count, 8u);
  EXPECT_EQ(quoted->duration.value, 1500);
  EXPECT_EQ(report::settled_text(*quoted, 10), "settled after 1 of 10 iterations, period 2");
  result.iterations = lasting({5000, 1000, 2500});
  const auto none = report::settled_iterations(result);
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->is_settled);
  EXPECT_EQ(none->learning, 3u);
  EXPECT_EQ(report::settled_text(*none, 3), "not settled after 3 iterations");
  EXPECT_EQ(report::settled_text(*none, 1), "not settled after 1 iteration");
}

// Prefetches the memory of a kernel, but only after it has seen that kernel seven times.
class LateLearner final : public policy::Planner {
 public:
  static constexpr std::uint64_t kLessons = 7;
  static policy::PolicyInfo info() {
    return {.description = "learns late", .source = "this test", .information = policy::InformationClass::kD3};
  }
  static policy::ParameterTable parameters() { return {}; }
  explicit LateLearner(const policy::PolicyContext&) {}
  void on_launched(const policy::KernelLaunch& kernel) override {
    if (kernel.name != "use" || ++seen_ <= kLessons) return;
    for (const policy::KernelArgument& argument : kernel.arguments) {
      for (const policy::BlockPages& part : argument.memory) wanted_.push_back(part.block);
    }
  }
  policy::PlanCommand next(const policy::PlanQueries& queries) override {
    while (!wanted_.empty()) {
      const BlockIndex block = wanted_.back();
      const PageMask missing = queries.missing(block);
      wanted_.pop_back();
      if (!missing.empty()) return {policy::PlanCommand::Kind::kPrefetch, block, missing};
    }
    return {};
  }

 private:
  std::uint64_t seen_ = 0;
  std::vector<BlockIndex> wanted_;
};

// In every iteration the host writes new data, which a kernel reads after another one has computed.
Program reads_new_data() {
  Program p;
  for (const std::uint64_t index : {0u, 1u, 2u}) {
    p.add(trace::Range{trace::RangeKind::kIterationBegin, "", index});
    const auto data = p.alloc(64 * kMiB);
    p.host(data);
    p.kernel("before", 20'000'000);
    p.kernel("use", 100'000, {data});
    p.sync();
    p.free(data);
    p.add(trace::Range{trace::RangeKind::kIterationEnd, "", index});
  }
  return p;
}

RunOptions until_settled(std::uint64_t chunks, std::uint64_t most) {
  RunOptions options = options_with(chunks);
  options.iterations = most;
  options.until_settled = true;
  return options;
}

TEST(UntilSettled, ALateLearnerIsWaitedFor) {
  const auto registry = std::make_shared<policy::Registry>(*policy::built_ins());
  policy::add_policy<LateLearner>(*registry, "late_learner");
  RunOptions options = until_settled(64, 40);
  options.registry = registry;
  options.plan.name = "late_learner";
  const Program program = reads_new_data();
  const RunResult result = program.run(options);
  const auto quoted = report::settled_iterations(result);
  ASSERT_TRUE(quoted);
  ASSERT_TRUE(quoted->is_settled);
  EXPECT_EQ(quoted->learning, LateLearner::kLessons);
  EXPECT_EQ(result.iterations.size(), LateLearner::kLessons + engine::kFewestAgreeing + 2)
      << "and the pass in progress, and the last one that is recorded";
  EXPECT_GT(result.iterations[6].counters.fault_batches, 0u);
  EXPECT_EQ(quoted->counters.fault_batches, 0u);
  // Up to its end the run equals the one without this option.
  options.until_settled = false;
  const RunResult all = program.run(options);
  ASSERT_EQ(all.iterations.size(), 40u);
  // (The host runs ahead of the last pass, and what follows differs.)
  for (std::size_t i = 0; i + 1 < result.first_repeated + result.repeated; ++i) {
    EXPECT_EQ(result.iterations[i].index, i);
    EXPECT_EQ(result.iterations[i].begin, all.iterations[i].begin) << i;
    EXPECT_EQ(result.iterations[i].end, all.iterations[i].end) << i;
    EXPECT_EQ(text_of(result.iterations[i].counters), text_of(all.iterations[i].counters)) << i;
  }
  EXPECT_EQ(report::settled_iterations(all)->learning, LateLearner::kLessons);
  // With too few iterations, the run says that it has not settled.
  options.iterations = 12;
  EXPECT_FALSE(report::settled_iterations(program.run(options))->is_settled);
}

TEST(UntilSettled, EndsWhenTheStateRecurs) {
  const Program program = reads_new_data();
  RunOptions options = until_settled(64, 40);
  const RunResult some = program.run(options);
  ASSERT_TRUE(some.recurring);
  EXPECT_LT(some.iterations.size(), engine::kFewestAgreeing);
  const auto quoted = report::settled_iterations(some);
  EXPECT_TRUE(quoted->is_settled);
  EXPECT_TRUE(quoted->exact);
  options.until_settled = false;
  const RunResult all = program.run(options);
  EXPECT_EQ(report::settled_iterations(all)->duration, quoted->duration);
  EXPECT_EQ(report::settled_iterations(all)->learning, quoted->learning);
}

TEST(UntilSettled, RandomProgramsEndEarlyAndAreTheBeginOfTheWhole) {
  std::uint64_t ended_early = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const Program program = random_training(seed);
    RunOptions options = until_settled(2 + seed % 10, 30);
    options.layout.name = seed % 2 == 0 ? "recorded" : "pytorch_caching";
    const RunResult some = program.run(options);
    options.until_settled = false;
    const RunResult all = program.run(options);
    ASSERT_EQ(all.iterations.size(), 30u);
    ASSERT_LE(some.iterations.size(), 30u);
    ended_early += some.iterations.size() < 30 ? 1 : 0;
    for (std::size_t i = 0; i < some.first_repeated + some.repeated; ++i) {
      ASSERT_EQ(some.iterations[i].end - some.iterations[i].begin, all.iterations[i].end - all.iterations[i].begin)
          << i;
      ASSERT_EQ(text_of(some.iterations[i].counters), text_of(all.iterations[i].counters)) << i;
    }
    options.until_settled = true;
    options.evict.name = "min";
    EXPECT_EQ(program.run(options).iterations.size(), 30u) << "who knows the future was told of all iterations";
  }
  EXPECT_GT(ended_early, 30u);
}

}  // namespace
}  // namespace uvmsim::settled_test
