// SPDX-License-Identifier: Apache-2.0
// Several programs on one GPU: the order of turns, the memory that they take from each other, and what is the same as
// when running alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/engine/hosted_programs.h"
#include "tests/engine/random_training.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSlice = 2091000, kSwitch = 152000;  // of an H200

RunOptions sharing_options(std::uint64_t chunks) {
  config::SystemConfig system = server(1);
  system.runtime.time_slice_ns = kSlice;
  system.runtime.context_switch_ns = kSwitch;
  return options_on(system, chunks);
}

// Kernels that touch nothing.
Program computing(std::vector<std::int64_t> durations_ns) {
  Program p;
  for (const std::int64_t duration : durations_ns) p.kernel("k", duration);
  p.sync();
  return p;
}

// Kernels read a buffer in turn, all of it each time.
Program reading(std::uint64_t blocks, int kernels, std::int64_t duration_ns) {
  Program p;
  const auto data = p.alloc(blocks * kBlockBytes);
  p.host(data);
  for (int i = 0; i < kernels; ++i) p.kernel("k", duration_ns, {data});
  p.sync();
  return p;
}

struct Pair {
  Program a, b;
  RunOptions options;
  std::vector<RunResult> run(GpuSharing sharing = GpuSharing::kTimeSlices, std::int64_t later = 0) const {
    std::vector programs{hosted("a", a, options, {0}), hosted("b", b, options, {0})};
    programs[1].start = Nanoseconds(later);
    return run_together(programs, sharing);
  }
};

// Returns the ends of several kernels that start at the same time, by the rule.
std::vector<std::int64_t> round_robin(std::vector<std::int64_t> left, std::int64_t start) {
  std::vector<std::int64_t> ends(left.size());
  std::int64_t now = start;
  std::size_t unfinished = left.size();
  for (std::size_t i = 0; unfinished != 0; i = (i + 1) % left.size()) {
    if (left[i] == 0) continue;
    const std::int64_t turn = unfinished == 1 ? left[i] : std::min(left[i], kSlice);
    now += turn;
    left[i] -= turn;
    if (left[i] == 0) {
      ends[i] = now;
      --unfinished;
    }
    now += kSwitch;
  }
  return ends;
}

TEST(Sharing, KernelsTakeTurnsOfASlice) {
  const std::vector<std::int64_t> durations{47372000, 47372000, 9000000, 500000};
  std::vector<Program> programs;
  for (const std::int64_t duration : durations) programs.push_back(computing({duration}));
  std::vector<ServerProgram> together;
  for (const Program& program : programs) {
    together.push_back(
        hosted(std::string(1, static_cast<char>('a' + together.size())), program, sharing_options(8), {0}));
  }
  const std::vector<RunResult> results = run_together(together);
  const auto delay = programs.front().run(sharing_options(8)).total.value - durations.front();  // launch, start, return
  const std::vector<std::int64_t> ends = round_robin(durations, 0);
  for (std::size_t i = 0; i < ends.size(); ++i) EXPECT_EQ(results[i].total.value, ends[i] + delay) << i;
}

TEST(Sharing, AVisitorHasTheGpuAtOnceWhenItsOwnerHadASlice) {
  const std::int64_t length = 50000000, visit = 200000;
  const Pair pair{computing({length}), computing({visit}), sharing_options(8)};
  const std::int64_t alone = pair.b.run(pair.options).total.value;
  for (const std::int64_t later : {10000000, 10370000, 12345678}) {
    const auto results = pair.run(GpuSharing::kTimeSlices, later);
    EXPECT_EQ(results[1].total.value, alone + kSwitch) << later;
    EXPECT_EQ(results[0].total.value, pair.a.run(pair.options).total.value + visit + 2 * kSwitch) << later;
  }
  // A program that starts early waits until the owner's slice ends.
  const auto early = pair.run(GpuSharing::kTimeSlices, 1000000);
  EXPECT_EQ(early[1].total.value, alone + kSwitch + kSlice - 1000000);
}

TEST(Sharing, ConcurrentKernelsDoNotWaitForEachOther) {
  const Pair pair{computing({5000000, 3000000}), computing({9000000}), sharing_options(8)};
  const auto results = pair.run(GpuSharing::kConcurrent);
  EXPECT_EQ(results[0].total, pair.a.run(pair.options).total);
  EXPECT_EQ(results[1].total, pair.b.run(pair.options).total);
}

TEST(Sharing, WhatFitsMovesAsAloneAndTakesTurns) {
  const Pair pair{reading(6, 20, 1000000), reading(9, 20, 1000000), sharing_options(15)};
  const auto results = pair.run();
  const RunResult alone[] = {pair.a.run(pair.options), pair.b.run(pair.options)};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(bytes_in(results[i].counters), bytes_in(alone[i].counters));
    EXPECT_EQ(results[i].counters.chunk_allocations, alone[i].counters.chunk_allocations);
    EXPECT_EQ(results[i].counters.evictions, 0u);
  }
  // The kernels take 40 ms; after 2.091 ms each there is a switch.
  const std::int64_t last = std::max(results[0].total, results[1].total).value;
  EXPECT_GT(last, 40000000 + 40000000 / kSlice * kSwitch);
  EXPECT_LT(last, 1.1 * static_cast<double>(alone[0].total.value + alone[1].total.value));
}

// Kernels that keep all their memory take their recorded time, whether or not their memory could be evicted.
TEST(Sharing, KernelsThatLoseNothingTakeTheirRecordedTime) {
  Pair pair{reading(6, 20, 1000000), reading(9, 20, 1000000), sharing_options(15)};
  const auto surely = pair.run();
  pair.options.capacity_bytes = 16 * kBlockBytes;  // one of the programs also allocates memory that it never touches
  pair.b.alloc(4 * kBlockBytes);
  const auto perhaps = pair.run();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(perhaps[i].counters.evictions, 0u);
    EXPECT_NEAR(static_cast<double>(perhaps[i].total.value), static_cast<double>(surely[i].total.value),
                0.01 * static_cast<double>(surely[i].total.value));
  }
}

TEST(Sharing, TheyTakeMemoryFromEachOtherAndNeverMoreThanThereIs) {
  const std::uint64_t chunks = 10;
  const Pair pair{reading(8, 12, 300000), reading(7, 12, 300000), sharing_options(chunks)};
  const auto results = pair.run();
  std::uint64_t allocations = 0, evictions = 0;
  for (const RunResult& result : results) {
    ASSERT_EQ(result.evicted_from.size(), 2u);
    EXPECT_EQ(std::accumulate(result.evicted_from.begin(), result.evicted_from.end(), std::uint64_t{0}),
              result.counters.evictions);
    allocations += result.counters.chunk_allocations;
    evictions += result.counters.evictions;
  }
  EXPECT_GT(results[0].evicted_from[1], 0u);
  EXPECT_GT(results[1].evicted_from[0], 0u);
  EXPECT_LE(allocations - evictions, chunks);
  // Each fits alone.
  EXPECT_EQ(pair.a.run(pair.options).counters.evictions, 0u);
  EXPECT_EQ(pair.b.run(pair.options).counters.evictions, 0u);
}

// Two programs get eight chunks each, of which each requests more than half of ten.
TEST(Sharing, AQuotaIsKept) {
  const std::uint64_t chunks = 10;
  for (const std::uint64_t percent : {30, 60, 80}) {
    SCOPED_TRACE(percent);
    Pair pair{reading(8, 12, 300000), reading(8, 12, 300000), sharing_options(chunks)};
    pair.options.evict = {"quota", {{"0", std::to_string(percent)}}};
    const auto results = pair.run();
    // A process with no more than its quota loses nothing: memory that others took from it exceeded the quota.
    const std::uint64_t kept = chunks * percent / 100;
    const auto [a, b] = std::pair(results[0], results[1]);
    EXPECT_LE(b.evicted_from[0], a.counters.chunk_allocations - a.evicted_from[0] - std::min<std::uint64_t>(kept, 8));
    if (percent == 80) {
      EXPECT_EQ(b.evicted_from[0], 0u);
    }
    EXPECT_GT(b.evicted_from[1], 0u);
  }
  // Quotas that add up to more than all memory are scaled by their sum.
  Pair pair{reading(8, 12, 300000), reading(8, 12, 300000), sharing_options(chunks)};
  pair.options.evict = {"quota", {{"0", "100"}, {"1", "100"}}};
  const auto both = pair.run();
  pair.options.evict = {"quota", {{"0", "50"}, {"1", "50"}}};
  const auto half = pair.run();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(text_of(both[i]), text_of(half[i]));
}

TEST(Sharing, TheImportantProcessLosesNothingWhileOthersHaveMemory) {
  Pair pair{reading(8, 12, 300000), reading(8, 12, 300000), sharing_options(10)};
  pair.options.evict = {"priority", {{"1", "1"}}};
  const auto results = pair.run();
  EXPECT_EQ(results[0].evicted_from[1], 0u);
  EXPECT_EQ(results[1].evicted_from[1], 0u);
  EXPECT_GT(results[1].evicted_from[0], 0u);
  // If it runs alone, each of these policies acts like the driver's.
  for (const char* policy : {"quota", "priority", "working_set"}) {
    RunOptions one = pair.options;
    one.capacity_bytes = 6 * kBlockBytes;
    one.evict = {policy, {}};
    const RunResult result = pair.a.run(one);
    one.evict = {"lrm", {}};
    EXPECT_EQ(text_of(result), text_of(pair.a.run(one)));
  }
}

TEST(Sharing, AProgramOfHigherPriorityTakesItsTurnWheneverItWantsTo) {
  Pair pair{computing({50000000}), computing({9000000}), sharing_options(8)};
  pair.options.schedule = {"priority", {{"1", "1"}}};
  const auto results = pair.run(GpuSharing::kTimeSlices, 1000000);  // within the first slice of the other
  EXPECT_EQ(results[1].total.value, pair.b.run(pair.options).total.value + kSwitch);
  EXPECT_EQ(results[0].total.value, pair.a.run(pair.options).total.value + 9000000 + 2 * kSwitch);
  // Equal numbers give the GPU's own order.
  pair.options.schedule = {"priority", {{"0", "7"}, {"1", "7"}}};
  const auto equal = pair.run();
  pair.options.schedule = {"round_robin", {}};
  const auto in_turn = pair.run();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(text_of(equal[i]), text_of(in_turn[i]));
}

// Three programs of eight chunks on nineteen: two fit together, three do not.
TEST(Sharing, GroupsThatFitComputeTogetherAndKeepTheirMemory) {
  const auto options = sharing_options(19);
  std::vector<Program> programs;
  for (int i = 0; i < 3; ++i) programs.push_back(reading(8, 60, 1000000));
  const auto evictions_under = [&](const PolicyChoice& evict, const PolicyChoice& schedule) {
    std::vector<ServerProgram> together;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      together.push_back(hosted(std::string(1, static_cast<char>('a' + i)), programs[i], options, {0}));
      together.back().options.evict = evict;
      together.back().options.schedule = schedule;
    }
    std::uint64_t evictions = 0;
    for (const RunResult& result : run_together(together)) {
      evictions += result.counters.evictions;
      EXPECT_EQ(result.counters.kernels, 60u);
    }
    return evictions;
  };
  const std::uint64_t stock = evictions_under({"lrm", {}}, {"round_robin", {}});
  const std::uint64_t kept = evictions_under({"working_set", {}}, {"round_robin", {}});
  const std::uint64_t grouped = evictions_under({"working_set", {}}, {"memory_aware", {{"factor", "20"}}});
  EXPECT_LT(kept, stock);
  EXPECT_LT(2 * grouped, kept);
  EXPECT_GT(grouped, 0u);
}

// Evictors are told of turns: first the process that has the turn, then the others, each once.
TEST(Sharing, WithoutTurnsWorkingSetsAreTheDriversOrder) {
  Pair pair{reading(8, 12, 300000), reading(8, 12, 300000), sharing_options(10)};
  const auto stock = pair.run(GpuSharing::kConcurrent);
  pair.options.evict = {"working_set", {}};
  const auto sets = pair.run(GpuSharing::kConcurrent);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(text_of(stock[i]), text_of(sets[i]));
  const auto in_turns = pair.run();
  EXPECT_NE(text_of(stock[0]), text_of(in_turns[0]));
}

TEST(Sharing, AloneOnTheGpuIsTheSingleProgramAndTheSameAgain) {
  std::uint64_t evictions = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Pair pair{random_training(2 * seed), random_training(2 * seed + 1), sharing_options(3 + random.below(12))};
    const GpuSharing sharing = seed % 2 == 0 ? GpuSharing::kTimeSlices : GpuSharing::kConcurrent;
    const std::vector one{hosted("a", pair.a, pair.options, {0})};
    EXPECT_EQ(text_of(run_together(one, sharing).front()), text_of(pair.a.run(pair.options)));
    const auto first = pair.run(sharing), again = pair.run(sharing);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(text_of(first[i]), text_of(again[i]));
      EXPECT_EQ(first[i].counters.kernels, (i == 0 ? pair.a : pair.b).run(pair.options).counters.kernels);
      evictions += first[i].counters.evictions;
    }
  }
  EXPECT_GT(evictions, 100u);
}

TEST(Sharing, ARepeatedProgramIsCutOffWhenAllOthersHaveEnded) {
  const RunOptions options = sharing_options(10);
  const Program brief = reading(8, 1, 300000), lasting = reading(7, 12, 300000);
  Program endless;
  const auto data = endless.alloc(6 * kBlockBytes);
  endless.host(data);
  for (int i = 0; i < 2; ++i) {
    endless.add(trace::Range{trace::RangeKind::kIterationBegin, "", static_cast<std::uint64_t>(i)});
    endless.kernel("k", 300000, {data});
    endless.sync();
    endless.add(trace::Range{trace::RangeKind::kIterationEnd, "", static_cast<std::uint64_t>(i)});
  }
  for (const GpuSharing sharing : {GpuSharing::kTimeSlices, GpuSharing::kConcurrent}) {
    std::vector programs{hosted("brief", brief, options, {0}), hosted("lasting", lasting, options, {0}),
                         hosted("endless", endless, options, {0})};
    programs[2].repeat = true;
    const auto results = run_together(programs, sharing);
    EXPECT_EQ(results[0].counters.kernels, 1u);
    EXPECT_EQ(results[1].counters.kernels, 12u);
    EXPECT_EQ(results[2].total, std::max(results[0].total, results[1].total));
    EXPECT_GT(results[2].iterations.size(), 2u);
  }
}

TEST(Sharing, AContextOfEachFurtherProcessTakesMemory) {
  RunOptions options = sharing_options(0);
  options.system.runtime.context_bytes = 3 * kBlockBytes + 1;
  const Pair pair{computing({1000}), computing({1000}), options};
  EXPECT_EQ(pair.a.run(options).capacity_bytes, std::uint64_t{64} << 30);
  EXPECT_EQ(pair.run()[0].capacity_bytes, (std::uint64_t{64} << 30) - 4 * kBlockBytes);
}

TEST(Sharing, SaysWhatCannotBe) {
  const Program program = reading(2, 1, 1000);
  const RunOptions options = sharing_options(8);
  const auto on_one = [&](auto&& change) {
    std::vector programs{hosted("a", program, options, {0}), hosted("b", program, options, {0})};
    change(programs[1].options);
    return complaint_of(programs);
  };
  EXPECT_EQ(on_one([](RunOptions& o) { o.evict.name = "lru"; }),
            "programs 'a' and 'b' share GPU 0 and have evict policies 'lrm' and 'lru'; allowed: one for both");
  EXPECT_EQ(
      on_one([](RunOptions& o) { o.schedule.name = "priority"; }),
      "programs 'a' and 'b' share GPU 0 and have schedule policies 'round_robin' and 'priority'; allowed: one for "
      "both");
  EXPECT_THAT(on_one([](RunOptions& o) { o.capacity_bytes = 16 * kBlockBytes; }),
              HasSubstr("have capacities '16777216 bytes' and '33554432 bytes'; allowed: one for both"));
  EXPECT_THAT(on_one([](RunOptions& o) { o.harvest.victims = true; }),
              HasSubstr("program 'b' harvests memory and shares GPU 0; allowed: GPUs of its own"));
  EXPECT_THAT(on_one([](RunOptions& o) {
                o.capacity_bytes = 0;
                o.osf_thousandths = 1500;
              }),
              HasSubstr("program 'b' has an oversubscription factor of its own and shares GPU 0"));
  EXPECT_THAT(on_one([](RunOptions& o) { o.plan.name = "deepum"; }), HasSubstr("works for one program alone"));
}

}  // namespace
}  // namespace uvmsim
