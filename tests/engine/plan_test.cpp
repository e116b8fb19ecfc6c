// SPDX-License-Identifier: Apache-2.0
// Planners on whole programs: how much they save, and that none can make the model inconsistent.
#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "sim/common/random.h"
#include "sim/policy/registry.h"
#include "tests/engine/program.h"

namespace uvmsim {
namespace {

using policy::PlanCommand;

// Gives no commands.
class Idle final : public policy::Planner {
 public:
  static policy::PolicyInfo info() {
    return {.description = "nothing", .source = "this test", .information = policy::InformationClass::kD3};
  }
  static policy::ParameterTable parameters() { return {}; }
  explicit Idle(const policy::PolicyContext&) {}
  PlanCommand next(const policy::PlanQueries&) override { return {}; }
};

// Gives random commands, most of them invalid, without end.
class Nonsense final : public policy::Planner {
 public:
  static policy::PolicyInfo info() { return {.description = "anything", .source = "this test"}; }
  static policy::ParameterTable parameters() { return {}; }
  explicit Nonsense(const policy::PolicyContext& context) : random_(context.random) {}
  PlanCommand next(const policy::PlanQueries&) override {
    const auto kind = static_cast<PlanCommand::Kind>(random_.below(4));
    const std::uint64_t first = random_.below(kPagesPerBlock);
    const std::uint64_t count = random_.below(kPagesPerBlock - first) + 1;
    return {kind, BlockIndex(random_.below(40)),
            PageMask::range(static_cast<unsigned>(first), static_cast<unsigned>(count))};
  }
  PlanCommand victim(const policy::PlanQueries& queries) override { return next(queries); }

 private:
  Random random_;
};

RunOptions with_plan(std::uint64_t chunks, const std::string& plan) {
  static const auto registry = [] {
    policy::Registry policies = *policy::built_ins();
    policy::add_policy<Idle>(policies, "idle_plan");
    policy::add_policy<Nonsense>(policies, "nonsense_plan");
    return std::make_shared<const policy::Registry>(policies);
  }();
  RunOptions options = options_with(chunks);
  options.registry = registry;
  options.plan.name = plan;
  return options;
}

// Kernels run in turn over objects that do not fit together.
Program in_turns(std::uint64_t objects, std::uint64_t rounds, std::uint64_t object_bytes = 4 * kBlockBytes) {
  Program program;
  for (std::uint64_t i = 0; i < objects; ++i) program.host(program.alloc(object_bytes));
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::uint64_t i = 1; i <= objects; ++i) program.kernel("k" + std::to_string(i), 3000000, {i}, {});
  }
  program.sync();
  return program;
}

// Tensors in one segment, each written, read and freed, one after another; all memory is reused in every round.
Program short_lived(int rounds) {
  Program program;
  trace::ObjectId id = 100;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 8; ++i) {
      // The first of two tensors is live while the second one is allocated.
      const trace::ObjectId tensor = id++;
      program.add(trace::TensorAlloc{tensor, 20 * kMiB, 0, trace::kNoObject, 0, "t"});
      trace::Kernel& kernel = program.kernel("fill" + std::to_string(i), 2000000);
      kernel.accesses.push_back({tensor, {{0, 20 * kMiB / kPage, trace::AccessMode::kWrite}}});
      if (i % 2 == 1) {
        program.add(trace::TensorFree{tensor - 1});
        program.add(trace::TensorFree{tensor});
      }
    }
  }
  program.sync();
  return program;
}

TEST(Plan, APlannerThatWantsNothingChangesNothing) {
  for (const std::uint64_t chunks : {0u, 10u, 6u}) {
    const Program program = in_turns(4, 3);
    const RunResult with = program.run(with_plan(chunks, "idle_plan"));
    const RunResult without = program.run(with_plan(chunks, "none"));
    EXPECT_EQ(with.total, without.total) << chunks;
    EXPECT_EQ(with.counters.fault_batches, without.counters.fault_batches);
    EXPECT_EQ(with.counters.htod_busy_ns, without.counters.htod_busy_ns);
  }
}

TEST(Plan, DeepUmLearnsAndOvertakesAPeriodicProgram) {
  const Program program = in_turns(4, 8);
  RunOptions options = with_plan(10, "deepum");
  options.plan.parameters = {{"degree", "1"}, {"reserve_chunks", "2"}};
  const RunResult planned = program.run(options);
  const RunResult stock = program.run(with_plan(10, "none"));
  EXPECT_LT(2 * planned.counters.fault_batches, stock.counters.fault_batches);
  EXPECT_LT(planned.total, stock.total);
  EXPECT_GE(planned.total, planned.ideal);
  EXPECT_GT(planned.counters.htod_prefetch_bytes, stock.counters.htod_prefetch_bytes);
  options.plan = {"deepum_ideal", {{"degree", "1"}, {"reserve_chunks", "2"}}};
  const RunResult ideal = program.run(options);
  // the oracle does not need a first round to learn
  EXPECT_LE(ideal.counters.fault_batches, planned.counters.fault_batches);
}

// Only evictions ahead of need are counted.
TEST(Plan, EarlyEvictionsAreCountedAsSuch) {
  const Program program = in_turns(4, 8);
  RunOptions options = with_plan(10, "deepum");
  options.plan.parameters = {{"degree", "1"}, {"reserve_chunks", "2"}};
  const Counters early = program.run(options).counters;
  EXPECT_GT(early.pre_evictions, 0u);
  EXPECT_LE(early.pre_evictions, early.evictions);
  // There is no reserve, and no prefetch that needs a chunk: the victim is chosen when a fault needs the chunk.
  options.plan.parameters = {{"degree", "1"}, {"reserve_chunks", "0"}, {"prefetch", "false"}};
  const Counters late = program.run(options).counters;
  EXPECT_GT(late.evictions, 0u);
  EXPECT_EQ(late.pre_evictions, 0u);
  EXPECT_EQ(program.run(with_plan(10, "none")).counters.pre_evictions, 0u);
}

TEST(Plan, MemoryThatTheFrameworkFreedIsNotWrittenBack) {
  const Program program = short_lived(6);
  RunOptions options = with_plan(12, "deepum");
  options.layout.name = "pytorch_caching";
  options.plan.parameters = {{"degree", "0"}};  // memory of further kernels is no victim
  const Counters dropped = program.run(options).counters;
  options.plan.parameters.push_back({"invalidate", "false"});
  const Counters kept = program.run(options).counters;
  EXPECT_GT(kept.dtoh_evict_bytes, 0u);
  EXPECT_LT(4 * dropped.dtoh_evict_bytes, 3 * kept.dtoh_evict_bytes);
  EXPECT_GT(dropped.evictions_without_copy, kept.evictions_without_copy);
  EXPECT_GT(dropped.discarded_pages, 0u);
  EXPECT_EQ(kept.discarded_pages, 0u);
  // Plain objects are needed until they are freed.
  EXPECT_EQ(in_turns(4, 4).run(with_plan(10, "deepum")).counters.discarded_pages, 0u);
}

// Planners that know the future beat the others on a periodic program from its first round on.
TEST(Plan, OraclesFaultLessThanTheStockDriver) {
  const Program program = in_turns(4, 6);
  const RunResult stock = program.run(with_plan(10, "none"));
  for (const char* plan : {"aggressive", "conservative", "kernel_lookahead", "lms_like"}) {
    RunOptions options = with_plan(10, plan);
    if (std::string(plan) != "lms_like") options.plan.parameters = {{"reserve_chunks", "1"}};
    const RunResult planned = program.run(options);
    EXPECT_LT(2 * planned.counters.fault_batches, stock.counters.fault_batches) << plan;
    EXPECT_LT(planned.total, stock.total) << plan;
    EXPECT_GE(planned.total, planned.ideal) << plan;
  }
}

// With memory for everything these planners only populate ahead.
TEST(Plan, G10AndCapuchinSwapNothingWhereEverythingFits) {
  const Program program = in_turns(4, 3);
  for (const char* plan : {"g10", "capuchin_like"}) {
    const Counters c = program.run(with_plan(20, plan)).counters;
    EXPECT_EQ(c.evictions, 0u) << plan;
    EXPECT_EQ(bytes_in(c), 4 * 4 * kBlockBytes) << plan;
  }
}

TEST(Plan, NoPlannerBreaksTheModel) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    for (const Program& program : {in_turns(5, 2, 3 * kBlockBytes + 48 * kPage), short_lived(2)}) {
      RunOptions options = with_plan(10, "nonsense_plan");
      options.layout.name = seed % 2 == 0 ? "pytorch_caching" : "none";
      options.seed = seed;
      const RunResult result = program.run(options);  // and checked builds find the state consistent
      EXPECT_GT(result.counters.kernels, 0u);
      EXPECT_GE(result.total, result.ideal);
      EXPECT_LE(result.counters.htod_busy_ns, static_cast<std::uint64_t>(result.total.value));
    }
  }
}

TEST(Plan, RunsRepeat) {
  const Program program = short_lived(3);
  for (const char* plan : {"deepum", "deepum_ideal", "nonsense_plan", "aggressive", "conservative", "kernel_lookahead",
                           "g10", "lms_like", "capuchin_like"}) {
    RunOptions options = with_plan(12, plan);
    options.layout.name = "pytorch_caching";
    const RunResult a = program.run(options), b = program.run(options);
    EXPECT_EQ(a.total, b.total) << plan;
    const Counters changed = difference(a.counters, b.counters);
    for_each_counter(changed,
                     [&](const char* name, std::uint64_t value) { EXPECT_EQ(value, 0u) << plan << " " << name; });
  }
}

TEST(Plan, AMisspeltPlannerIsAnError) { EXPECT_THROW(in_turns(2, 1).run(with_plan(8, "deepun")), InputError); }

}  // namespace
}  // namespace uvmsim
