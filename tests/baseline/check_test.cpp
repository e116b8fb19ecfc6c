// SPDX-License-Identifier: Apache-2.0
// Runs small points and shows which pass, which fail, and why.
#include "sim/baseline/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/baseline/new_points.h"
#include "sim/common/error.h"
#include "tests/cli/small_traces.h"
#include "tests/report/scratch_folder.h"

namespace uvmsim::baseline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Check : public ::testing::Test {
 protected:
  // Makes a baseline of three runs of one small trace by running them.
  Check() {
    folder_.write("trace.jsonl", two_iterations(16));
    std::vector<sweep::Point> points;
    for (const std::uint64_t osf : {1000u, 2000u, 4000u}) points.push_back(point_at(osf));
    add_runs(points);
  }

  sweep::Point point_at(std::uint64_t osf_thousandths) const {
    sweep::Point point;
    point.trace = folder_.path("trace.jsonl");
    point.system = "h200-sxm-pcie5";
    point.osf_thousandths = osf_thousandths;
    return point;
  }
  void add_runs(const std::vector<sweep::Point>& inputs) {
    std::vector<RunRequest> requests;
    for (const sweep::Point& point : inputs) requests.push_back({point, ""});
    std::vector<BaselinePoint> points;
    const auto answers = run_points(requests, 2);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      points.push_back(new_point(path(), requests[i].point, answers[i], {}));
    }
    add_points(baseline_, path(), std::move(points));
  }

  std::string path() const { return folder_.path("b.json"); }
  std::uint64_t& expected(std::size_t point, const std::string& name) {
    for (auto& [metric, value] : baseline_.points[point].expected) {
      if (metric == name) return value;
    }
    throw std::runtime_error("no metric " + name);
  }
  std::vector<std::size_t> failed(const CheckOptions& options = {}) const {
    const CheckResult result = check(baseline_, path(), options);
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < result.verdicts.size(); ++i) {
      if (!result.verdicts[i].passed()) positions.push_back(i);
    }
    return positions;
  }

  const ScratchFolder folder_;
  Baseline baseline_;
};

TEST_F(Check, WhatWasJustFoundIsAsExpected) {
  ASSERT_EQ(baseline_.points.size(), 3u);
  EXPECT_GT(expected(1, "evictions"), 0u);
  EXPECT_GT(expected(2, "settled_ns"), 0u);
  CheckOptions options;
  for (const std::size_t jobs : {1u, 2u, 7u}) {
    options.jobs = jobs;
    EXPECT_THAT(failed(options), IsEmpty());
  }
}

TEST_F(Check, OneMoreOrOneLessFails) {
  ++expected(0, "fault_batches");
  --expected(2, "settled_ns");
  EXPECT_THAT(failed(), ElementsAre(0, 2));
}

TEST_F(Check, ToleranceEndsAtItsEdge) {
  baseline_.tolerances.add("evictions", "3", "here");
  expected(1, "evictions") += 3;
  EXPECT_THAT(failed(), IsEmpty());
  ++expected(1, "evictions");
  EXPECT_THAT(failed(), ElementsAre(1));
  expected(1, "evictions") -= 7;
  EXPECT_THAT(failed(), IsEmpty());
  --expected(1, "evictions");
  EXPECT_THAT(failed(), ElementsAre(1));
}

// A program with randomness: a value within the range of its seeds is noise, a value outside of it is a change.
TEST_F(Check, WhatTheSeedsScatterIsNoise) {
  constexpr std::size_t kSeeds = 6;
  baseline_.points.clear();
  std::vector<sweep::Point> points;
  for (std::size_t seed = 1; seed <= kSeeds; ++seed) {
    sweep::Point& point = points.emplace_back(point_at(2000));
    point.evict.name = "random";
    point.seed = seed;
  }
  add_runs(points);
  CheckResult result = check(baseline_, path(), {});
  EXPECT_EQ(result.failures(), 0u);
  EXPECT_EQ(result.noisy(), 0u) << "the same seeds find the same";

  // Each point expects its neighbour's values.
  const compare::Metrics first = baseline_.points.front().expected;
  for (std::size_t i = 0; i + 1 < kSeeds; ++i) baseline_.points[i].expected = baseline_.points[i + 1].expected;
  baseline_.points.back().expected = first;
  result = check(baseline_, path(), {});
  EXPECT_EQ(result.failures(), 0u);
  EXPECT_GT(result.noisy(), 1u) << "the seeds make no difference";

  // One seed alone has no range.
  Baseline alone = baseline_;
  alone.points.resize(1);
  EXPECT_EQ(check(alone, path(), {}).failures(), 1u);

  // The value exceeds the largest by more than the tolerance.
  std::uint64_t largest = 0;
  for (std::size_t i = 0; i < kSeeds; ++i) largest = std::max(largest, expected(i, "settled_ns"));
  for (std::size_t i = 0; i < kSeeds; ++i) expected(i, "settled_ns") += 10 * largest;
  result = check(baseline_, path(), {});
  EXPECT_EQ(result.failures(), kSeeds);
  EXPECT_EQ(result.noisy(), 0u);
}

TEST_F(Check, AnInputThatChangesFailsItsPoint) {
  baseline_.points[1].point.evict.name = "lru";
  baseline_.points[2].point.prefetch.parameters = {{"threshold", "100"}};
  const CheckResult result = check(baseline_, path(), {});
  EXPECT_TRUE(result.verdicts[0].passed());
  EXPECT_FALSE(result.verdicts[2].passed());
}

TEST_F(Check, AMissingTraceFailsWithBothNames) {
  baseline_.points[1].point.trace = "./gone.jsonl";
  const CheckResult result = check(baseline_, path(), {});
  EXPECT_TRUE(result.verdicts[0].passed());
  EXPECT_THAT(result.verdicts[1].answer.error, HasSubstr("gone.jsonl"));
  EXPECT_THAT(result.verdicts[1].answer.error,
              HasSubstr("expected: the trace with SHA-256 " + baseline_.points[1].trace_sha256));
  EXPECT_FALSE(result.verdicts[1].answer.is_bug);
  EXPECT_EQ(result.failures(), 1u);
}

TEST_F(Check, AnotherTraceFailsWithBothHashes) {
  const std::string before = baseline_.points[0].trace_sha256;
  folder_.write("trace.jsonl", two_iterations(18));
  const CheckResult result = check(baseline_, path(), {});
  EXPECT_EQ(result.failures(), 3u);
  EXPECT_THAT(result.verdicts[0].answer.error, HasSubstr("is another trace: its SHA-256 is "));
  EXPECT_THAT(result.verdicts[0].answer.error, HasSubstr("expected: " + before));
  // An update stores the new value.
  CheckOptions options;
  options.any_trace = true;
  const Baseline now = updated(baseline_, check(baseline_, path(), options));
  EXPECT_NE(now.points[0].trace_sha256, before);
  baseline_ = now;
  EXPECT_THAT(failed(), IsEmpty());
}

TEST_F(Check, WrongInputsFailTheirPointOnly) {
  baseline_.points[0].point.evict.name = "nru";
  baseline_.points[1].point.osf_thousandths = 1000000;
  const CheckResult result = check(baseline_, path(), {});
  EXPECT_THAT(result.verdicts[0].answer.error, HasSubstr("nru"));
  EXPECT_THAT(result.verdicts[1].answer.error, HasSubstr("less than one 2 MiB chunk"));
  EXPECT_TRUE(result.verdicts[2].passed());
  EXPECT_FALSE(result.has_bug());
}

TEST_F(Check, AnUpdateKeepsTolerancesAndChoiceOfMetrics) {
  baseline_.tolerances.add("evictions", "3", "here");
  baseline_.points[1].tolerances.add("settled_ns", "1 %", "here");
  baseline_.points[1].expected = {{"settled_ns", 1}, {"evictions", 2}};
  const Baseline now = updated(baseline_, check(baseline_, path(), {}));
  EXPECT_EQ(now.tolerances.given(), baseline_.tolerances.given());
  EXPECT_EQ(now.points[1].tolerances.given(), baseline_.points[1].tolerances.given());
  ASSERT_EQ(now.points[1].expected.size(), 2u);
  EXPECT_EQ(now.points[1].expected[0].first, "settled_ns");
  EXPECT_GT(now.points[1].expected[0].second, 1u);
  EXPECT_EQ(now.points[0].expected, baseline_.points[0].expected);
  baseline_ = now;
  EXPECT_THAT(failed(), IsEmpty());
}

TEST_F(Check, AnUpdateOfSomePointsLeavesTheOthers) {
  ++expected(0, "evictions");
  ++expected(1, "evictions");
  CheckOptions options;
  options.only = "*OSF 2 *";
  const CheckResult result = check(baseline_, path(), options);
  ASSERT_EQ(result.verdicts.size(), 1u);
  baseline_ = updated(baseline_, result);
  EXPECT_THAT(failed(), ElementsAre(0));
  options.only = "*OSF 9*";
  EXPECT_THROW(check(baseline_, path(), options), InputError);
}

TEST_F(Check, NothingIsUpdatedWhenAPointDidNotRun) {
  baseline_.points[2].point.trace = "./gone.jsonl";
  EXPECT_THROW(updated(baseline_, check(baseline_, path(), {})), InputError);
  baseline_.points[2].point.trace = "./trace.jsonl";
  baseline_.points[2].expected.emplace_back("evictons", 1);
  EXPECT_THROW(updated(baseline_, check(baseline_, path(), {})), InputError);
}

TEST_F(Check, PlugInsOfTheCommandLineStandForTheBaselinesOwn) {
  baseline_.points[0].point.plugins = {"build/mine.so", "build/other.so"};
  CheckOptions options;
  options.plugins = {"/elsewhere/mine.so"};
  const auto requests = requests_of(baseline_, path(), options);
  EXPECT_THAT(requests[0].point.plugins, ElementsAre("/elsewhere/mine.so", folder_.path("build/other.so")));
  EXPECT_THAT(requests[1].point.plugins, ElementsAre("/elsewhere/mine.so"));
}

TEST_F(Check, PointsAreAddedOnce) {
  std::vector<BaselinePoint> again = {baseline_.points[1]};
  EXPECT_THROW(add_points(baseline_, path(), again), InputError);
  again[0].point.iterations = 5;  // another point of the same label
  add_points(baseline_, path(), again);
  EXPECT_EQ(baseline_.points[3].name, baseline_.points[1].name + " #2");
}

TEST_F(Check, MetricsAreChosenByName) {
  sweep::Point point = baseline_.points[0].point;
  const RunAnswer answer{"", false, std::string(64, 'a'), {}, {{"total_ns", 1}, {"settled_ns", 2}, {"wakeups", 3}}};
  EXPECT_EQ(new_point(path(), point, answer, {}).expected, (compare::Metrics{{"total_ns", 1}, {"settled_ns", 2}}));
  EXPECT_EQ(new_point(path(), point, answer, {"w*"}).expected, (compare::Metrics{{"wakeups", 3}}));
  EXPECT_THROW(new_point(path(), point, answer, {"w*", "setled_ns"}), InputError);
}

}  // namespace
}  // namespace uvmsim::baseline
