// SPDX-License-Identifier: Apache-2.0
// Programs of many iterations from recordings of a few: closed forms.
#include <gtest/gtest.h>

#include "sim/report/run_record.h"
#include "tests/engine/program.h"

namespace uvmsim {
namespace {

// A program with one parameter. In each iteration an activation is allocated and freed, and a gradient lives until the
// next iteration. The first iteration differs: it warms up.
Program training() {
  Program p;
  const auto parameter = p.alloc(8 * kMiB);
  p.host(parameter);
  p.sync();
  trace::ObjectId gradient = 0;
  for (const std::uint64_t index : {0u, 1u}) {
    p.add(trace::Range{trace::RangeKind::kIterationBegin, "", index});
    if (gradient != 0) p.free(gradient);
    if (index == 0) p.kernel("warm up", 500000, {parameter});
    const auto activation = p.alloc(4 * kMiB);
    p.kernel("forward", 300000, {parameter}, {activation});
    gradient = p.alloc(2 * kMiB);
    p.kernel("backward", 600000, {parameter, activation}, {gradient});
    p.sync();
    p.free(activation);
    p.add(trace::Range{trace::RangeKind::kIterationEnd, "", index});
  }
  return p;
}

Nanoseconds duration(const IterationResult& iteration) { return iteration.end - iteration.begin; }

TEST(Iterations, WhileEverythingFitsTheyAreAllAlike) {
  const Program program = training();
  RunOptions options = options_with(16);
  const RunResult recorded = program.run(options);
  ASSERT_EQ(recorded.iterations.size(), 2u);
  options.iterations = 12;
  const RunResult many = program.run(options);
  ASSERT_EQ(many.iterations.size(), 12u);
  EXPECT_EQ(duration(many.iterations[0]), duration(recorded.iterations[0]));
  const Nanoseconds settled = duration(recorded.iterations[1]);
  for (std::size_t i = 1; i < 12; ++i) {
    EXPECT_EQ(many.iterations[i].index, i);
    EXPECT_EQ(duration(many.iterations[i]), settled) << i;
    EXPECT_EQ(many.iterations[i].ideal, recorded.iterations[1].ideal) << i;
    EXPECT_EQ(many.iterations[i].counters.fault_batches, recorded.iterations[1].counters.fault_batches) << i;
    EXPECT_EQ(many.iterations[i].counters.kernels, 2u);
  }
  // The warm-up runs once, then the settled iteration eleven times.
  const Nanoseconds step = many.iterations[2].begin - many.iterations[1].begin;
  EXPECT_EQ(many.iterations[11].begin, many.iterations[1].begin + Nanoseconds(10 * step.value));
  EXPECT_EQ(many.total.value, recorded.total.value + 10 * step.value);
  EXPECT_EQ(many.counters.kernels, 1u + 12 * 2);
  EXPECT_EQ(many.footprint_bytes, recorded.footprint_bytes);
  EXPECT_EQ(measure_footprint(program.source(), options.layout, 12), many.footprint_bytes);
}

TEST(Iterations, OneIsTheWarmUpAlone) {
  const Program program = training();
  RunOptions options = options_with(16);
  const RunResult recorded = program.run(options);
  options.iterations = 1;
  const RunResult one = program.run(options);
  ASSERT_EQ(one.iterations.size(), 1u);
  EXPECT_EQ(duration(one.iterations[0]), duration(recorded.iterations[0]));
  EXPECT_EQ(one.counters.kernels, 3u);
}

TEST(Iterations, ThoseToQuoteAreSummedUp) {
  RunResult result;
  EXPECT_FALSE(report::settled_iterations(result));
  for (const std::int64_t ns : {900, 100, 103, 104}) {
    IterationResult iteration;
    iteration.index = 5 + result.iterations.size();
    iteration.end = Nanoseconds(ns);
    iteration.ideal = Nanoseconds(ns - 50);
    iteration.counters.evictions = static_cast<std::uint64_t>(ns);
    result.iterations.push_back(iteration);
  }
  EXPECT_EQ(report::settled_iterations(result)->first_index, 8u);  // as recorded: the last one
  EXPECT_EQ(report::settled_iterations(result)->count, 1u);
  EXPECT_FALSE(report::settled_iterations(result)->is_settled);
  result.first_repeated = 1;
  result.repeated = 3;
  const auto settled = report::settled_iterations(result);
  EXPECT_EQ(settled->first_index, 7u);  // the later half of the passes
  EXPECT_EQ(settled->last_index, 8u);
  EXPECT_EQ(settled->duration.value, 104);  // 103.5, rounded half up
  EXPECT_EQ(settled->shortest.value, 103);
  EXPECT_EQ(settled->longest.value, 104);
  EXPECT_EQ(settled->ideal.value, 54);
  EXPECT_EQ(settled->counters.evictions, 104u);
  EXPECT_FALSE(settled->is_settled) << "three passes, 3 % apart";
  EXPECT_FALSE(report::quoted_iterations(result).contains(1));
  EXPECT_TRUE(report::quoted_iterations(result).contains(2));
  EXPECT_TRUE(report::quoted_iterations(result).contains(3));
}

}  // namespace
}  // namespace uvmsim
