// SPDX-License-Identifier: Apache-2.0
// Batch policies: the effects of a delay, a size, an order and held SMs, against closed forms; and what policies are
// told of faults, kernels and prefetched pages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/common/check.h"
#include "sim/policy/registry.h"
#include "tests/engine/program.h"

namespace uvmsim::policy {
namespace {

using ::testing::HasSubstr;

// Returns the text of the ModelError that a call throws.
template <class Call>
std::string bug_of(Call&& call) {
  try {
    call();
  } catch (const ModelError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no ModelError";
  return "";
}

// Returns the built-ins and the policies below, whose behaviour each test sets.
std::shared_ptr<const Registry> scripted_policies();

RunOptions batched(std::uint64_t chunks, const std::string& name, const GivenParameters& given = {}) {
  RunOptions options = options_with(chunks);
  options.prefetch.name = "none";
  options.registry = scripted_policies();
  options.batch = {name, given};
  return options;
}

// Returns a program of one thread that touches a page of each 64 KB unit, one after the other, so that each touch is a
// batch.
Program lone_thread(std::uint64_t touches) {
  Program program;
  const auto data = program.alloc(touches * kBigPageBytes);
  program.host(data);
  trace::Kernel& kernel = program.walk("chase", data, 0, 1);
  kernel.touches.clear();
  for (std::uint64_t i = 0; i < touches; ++i) kernel.touches.push_back({0, i * 16, trace::AccessMode::kRead});
  program.sync();
  return program;
}

TEST(Batch, ADelayIsPaidOncePerBatch) {
  const Program program = lone_thread(40);
  const RunResult at_once = program.run(batched(8, "coalesce", {{"delay_us", "0"}, {"faults", "1024"}}));
  ASSERT_EQ(at_once.counters.fault_batches, 40u);
  for (const std::int64_t us : {1, 7, 500}) {
    const RunResult later = program.run(batched(8, "coalesce", {{"delay_us", std::to_string(us)}, {"faults", "1024"}}));
    EXPECT_EQ(later.counters.fault_batches, 40u);
    EXPECT_EQ((later.total - at_once.total).value, 40 * us * 1000);
  }
}

TEST(Batch, ABatchThatIsFullDoesNotWait) {
  const Program program = lone_thread(40);
  const RunResult at_once = program.run(batched(8, "coalesce", {{"delay_us", "0"}, {"faults", "1"}}));
  const RunResult full = program.run(batched(8, "coalesce", {{"delay_us", "500"}, {"faults", "1"}}));
  EXPECT_EQ(full.total, at_once.total);
}

TEST(Batch, WithoutDelayAtTheDriversSizeItIsTheDriver) {
  const Program program = lone_thread(40);
  RunOptions options = batched(8, "coalesce", {{"delay_us", "0"}, {"faults", "256"}});
  const RunResult shaped = program.run(options);
  options.batch = {"driver", {}};
  const RunResult driver = program.run(options);
  EXPECT_EQ(shaped.total, driver.total);
  EXPECT_EQ(shaped.counters.fault_batches, driver.counters.fault_batches);
  EXPECT_EQ(shaped.counters.raw_faults, driver.counters.raw_faults);
}

// Returns a program of many warps on many blocks.
Program wide(std::uint64_t blocks) {
  Program program;
  const auto data = program.alloc(blocks * kBlockBytes);
  program.host(data);
  program.kernel("wide", 1000000, {data});
  program.sync();
  return program;
}

TEST(Batch, NoBatchHoldsMoreThanItsSize) {
  const Program program = wide(8);
  for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{8}, std::uint64_t{64}}) {
    const RunResult run = program.run(batched(16, "coalesce", {{"delay_us", "0"}, {"faults", std::to_string(size)}}));
    EXPECT_LE(run.counters.raw_faults, size * run.counters.fault_batches) << size;
    EXPECT_EQ(bytes_in(run.counters), 8 * kBlockBytes) << size;
  }
}

TEST(Batch, FewerSmsRaiseFewerFaultsAndAllEnd) {
  const Program program = wide(8);
  const RunResult all = program.run(batched(16, "coalesce", {{"delay_us", "0"}, {"sms", "100"}}));
  const RunResult one = program.run(batched(16, "coalesce", {{"delay_us", "0"}, {"sms", "25"}}));  // 25 % of four SMs
  EXPECT_EQ(bytes_in(one.counters), 8 * kBlockBytes);
  EXPECT_GT(one.counters.fault_batches, all.counters.fault_batches);
  EXPECT_LT(one.counters.raw_faults * all.counters.fault_batches, all.counters.raw_faults * one.counters.fault_batches);
}

TEST(Batch, EtcThrottlesOnlyWhereSomethingIsEvicted) {
  const Program program = wide(8);
  RunOptions options = batched(16, "driver");
  const RunResult driver = program.run(options);
  options.batch = {"etc_like", {{"patience", "1"}}};
  EXPECT_EQ(program.run(options).total, driver.total);
  options.capacity_bytes = 4 * kBlockBytes;
  const RunResult throttled = program.run(options);
  EXPECT_GT(throttled.counters.evictions, 0u);
  options.batch = {"driver", {}};
  EXPECT_NE(throttled.total, program.run(options).total);
}

// The behaviour that a test gives the policy.
struct Behaviour {
  BatchShape shape;
  bool reverses = false;
  std::vector<FaultRecord> heard;
  std::vector<std::string> kernels;
  std::vector<std::uint64_t> layers;
  std::uint64_t used = 0, wasted = 0;
};
Behaviour behaviour;

class Scripted final : public Batcher {
 public:
  static PolicyInfo info() { return {.description = "as its test says", .source = "this test"}; }
  static ParameterTable parameters() { return {}; }
  explicit Scripted(const PolicyContext&) {}
  BatchShape shape(const BatchMoment&) override { return behaviour.shape; }
  void arrange(const FaultBatch& batch, std::vector<BlockIndex>& first) override {
    behaviour.heard.assign(batch.faults.begin(), batch.faults.end());
    if (!behaviour.reverses) return;
    for (std::uint64_t block = 20; block-- > 0;) {  // includes blocks that are not in the batch, and duplicates
      first.emplace_back(block);
      first.emplace_back(block);
    }
  }
};

class Listener final : public Prefetcher, public FeatureListener {
 public:
  static PolicyInfo info() {
    return {.description = "listens", .source = "this test", .information = InformationClass::kD3};
  }
  static ParameterTable parameters() { return {}; }
  explicit Listener(const PolicyContext&) {}
  PageMask prefetch(const FaultedBlock& block) override {
    return PageMask::range(block.first_page, block.end_page - block.first_page);
  }
  void on_faults(const FaultBatch& batch) override {
    behaviour.heard.insert(behaviour.heard.end(), batch.faults.begin(), batch.faults.end());
  }
  void on_kernel(const KernelStart& kernel) override {
    behaviour.kernels.emplace_back(kernel.name);
    behaviour.layers.push_back(kernel.layer);
  }
  void on_prefetch_used(BlockIndex, const PageMask& pages) override { behaviour.used += pages.count(); }
  void on_prefetch_wasted(BlockIndex, const PageMask& pages) override { behaviour.wasted += pages.count(); }
};

// The commands that a test gives the planner; afterwards it commands nothing.
struct Plan {
  std::vector<PlanCommand> commands;
  std::vector<Nanoseconds> asked;
  bool begun = false;  // whether a kernel has begun; before that nothing is allocated
};
Plan script;
class ScriptedPlan final : public Planner {
 public:
  static PolicyInfo info() {
    return {.description = "as its test says", .source = "this test", .information = InformationClass::kD3};
  }
  static ParameterTable parameters() { return {}; }
  explicit ScriptedPlan(const PolicyContext&) {}
  void on_begin(const KernelLaunch&) override { script.begun = true; }
  PlanCommand next(const PlanQueries& queries) override {
    if (!script.begun) return {};
    script.asked.push_back(queries.now());
    if (script.commands.empty()) return {};
    const PlanCommand command = script.commands.front();
    script.commands.erase(script.commands.begin());
    return command;
  }
};

std::shared_ptr<const Registry> scripted_policies() {
  static const auto registry = [] {
    Registry policies = *built_ins();
    add_policy<Scripted>(policies, "scripted_batches");
    add_policy<Listener>(policies, "listening");
    add_policy<ScriptedPlan>(policies, "scripted_plan");
    return std::make_shared<const Registry>(policies);
  }();
  return registry;
}

void forget_scripts() {
  behaviour = {};
  script = {};
}

TEST(Batch, BlocksAreServedInTheOrderAsked) {
  forget_scripts();
  Program program;
  const auto a = program.alloc(kBlockBytes), b = program.alloc(kBlockBytes);
  program.host(a);
  program.host(b);
  program.walk("a", a, 0, 4);
  program.walk("b", b, 0, 4).stream = 1;  // at the same time
  program.sync();
  behaviour.shape.delay = Nanoseconds(1'000'000);  // until faults of both have arrived
  const auto first_block = [&] {
    Watched watched;
    program.run(batched(16, "scripted_batches"), &watched);
    return watched.transfers.empty() ? 99 : watched.transfers.front().address / kBlockBytes;
  };
  EXPECT_EQ(first_block(), 0u);
  behaviour.reverses = true;
  EXPECT_EQ(first_block(), 1u);
}

TEST(Batch, NonsenseEndsTheRunWithItsName) {
  forget_scripts();
  const Program program = wide(2);
  behaviour.shape.delay = Nanoseconds(-5);
  EXPECT_THAT(bug_of([&] { program.run(batched(16, "scripted_batches")); }),
              HasSubstr("batch policy 'scripted_batches' asks for a delay of -5 ns; allowed: 0 or more"));
  behaviour.shape = {.faults = 1u << 30, .delay = {}};
  EXPECT_THAT(bug_of([&] { program.run(batched(16, "scripted_batches")); }),
              HasSubstr("asks for 1073741824 faults; allowed: at most"));
}

TEST(Batch, WhoPutsOffForEverWaitsTheMost) {
  forget_scripts();
  const Program program = lone_thread(3);
  const RunResult at_once = program.run(batched(8, "scripted_batches"));
  behaviour.shape.delay = Nanoseconds(INT64_MAX);
  const RunResult late = program.run(batched(8, "scripted_batches"));
  EXPECT_EQ((late.total - at_once.total).value, 3 * kMostBatchDelay.value);
}

TEST(Features, FaultsComeInTheOrderOfTheBufferWithSmAndAccess) {
  forget_scripts();
  Program program = lone_thread(3);
  RunOptions options = options_with(8);
  options.registry = scripted_policies();
  options.prefetch.name = "listening";
  program.run(options);
  ASSERT_EQ(behaviour.heard.size(), 1u) << "one fault brings its block";
  EXPECT_EQ(behaviour.heard.front().sm, 0u);
  EXPECT_FALSE(behaviour.heard.front().write);
  EXPECT_EQ(behaviour.kernels, std::vector<std::string>{"chase"});
  // The touches of a kernel that faulted are seen when it ends: it touched two of the prefetched pages.
  EXPECT_EQ(behaviour.used, 2u);
  EXPECT_EQ(behaviour.wasted, 0u);
}

TEST(Features, WhatLeavesUnusedIsWasted) {
  forget_scripts();
  Program program;
  const auto a = program.alloc(kBlockBytes), b = program.alloc(kBlockBytes);
  program.host(a);
  program.host(b);
  program.walk("a", a, 0, 1);
  program.walk("b", b, 0, 1);  // with one chunk, this evicts the first block
  program.sync();
  RunOptions options = options_with(1);
  options.registry = scripted_policies();
  options.prefetch.name = "listening";
  program.run(options);
  EXPECT_EQ(behaviour.wasted, kPagesPerBlock - 1);
  EXPECT_EQ(behaviour.layers, (std::vector<std::uint64_t>{0, 1}));
}

TEST(LateDecisions, ACommandTakesEffectWhenItIsReadyAndFaultsGoOn) {
  const auto prefetched_at = [](std::int64_t latency_ns) {
    forget_scripts();
    Program program = lone_thread(64);  // two blocks
    program.kernel("work", 50'000'000);
    program.sync();
    script.commands = {{.kind = PlanCommand::Kind::kPrefetch,
                        .block = BlockIndex(1),
                        .pages = PageMask::all(),
                        .latency = Nanoseconds(latency_ns)}};
    RunOptions options = batched(8, "driver");
    options.plan.name = "scripted_plan";
    Watched watched;
    const RunResult run = program.run(options, &watched);
    for (const TransferEvent& transfer : watched.transfers) {
      if (transfer.cause == TransferCause::kPrefetch) return std::pair(transfer.start, run.counters.fault_batches);
    }
    return std::pair(Nanoseconds{}, run.counters.fault_batches);
  };
  const auto [at_once, few_batches] = prefetched_at(0);
  const auto [later, as_few_batches] = prefetched_at(400'000);
  EXPECT_GT(later.value, at_once.value + 300'000);
  EXPECT_EQ(as_few_batches, few_batches);
  const auto [too_late, more_batches] = prefetched_at(40'000'000);
  EXPECT_GT(too_late, later);
  EXPECT_GT(more_batches, few_batches);
}

TEST(LateDecisions, ATimerAsksAgain) {
  forget_scripts();
  Program program = lone_thread(1);
  program.kernel("work", 50'000'000);
  program.sync();
  script.commands.assign(
      3, {.kind = PlanCommand::Kind::kWait, .block = {}, .pages = {}, .latency = Nanoseconds(5'000'000)});
  RunOptions options = batched(8, "driver");
  options.plan.name = "scripted_plan";
  program.run(options);
  ASSERT_FALSE(script.asked.empty());
  const Nanoseconds due = script.asked.front() + Nanoseconds(5'000'000);
  EXPECT_TRUE(std::find(script.asked.begin(), script.asked.end(), due) != script.asked.end());
}

TEST(LateDecisions, NonsenseEndsTheRunWithItsName) {
  forget_scripts();
  const Program program = lone_thread(1);
  script.commands = {{.kind = PlanCommand::Kind::kWait, .block = {}, .pages = {}, .latency = Nanoseconds(-1)}};
  RunOptions options = batched(8, "driver");
  options.plan.name = "scripted_plan";
  EXPECT_THAT(bug_of([&] { program.run(options); }),
              HasSubstr("plan policy 'scripted_plan' decides within -1 ns; allowed: 0 to 3600000000000"));
}

TEST(TreeByProcess, WithTheTreesThresholdItIsTheTree) {
  const Program program = wide(6);
  RunOptions options = options_with(3);
  options.prefetch = {"tree_by_process", {{"threshold", "51"}}};
  const RunResult by_process = program.run(options);
  options.prefetch = {"tree", {}};
  EXPECT_EQ(by_process.total, program.run(options).total);
  // A process that runs alone has number 0.
  options.prefetch = {"tree_by_process", {{"threshold", "99"}, {"0", "51"}}};
  EXPECT_EQ(program.run(options).total, by_process.total);
  options.prefetch = {"tree_by_process", {{"0", "100"}}};
  EXPECT_NE(program.run(options).total, by_process.total);
}

}  // namespace
}  // namespace uvmsim::policy
