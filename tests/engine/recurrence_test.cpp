// SPDX-License-Identifier: Apache-2.0
// Iterations that are skipped because they recur: the results are those of a full replay.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "sim/common/random.h"
#include "sim/engine/engine.h"
#include "tests/engine/random_training.h"

namespace uvmsim::recurrence_test {
namespace {

RunOptions random_options(std::uint64_t seed) {
  Random random(seed * 613);
  RunOptions options = options_with(2 + random.below(14));
  const char* evictors[] = {"lrm", "lru", "fifo", "clock", "sieve", "slru", "reserved_lru", "mru"};
  const char* prefetchers[] = {"tree", "none", "sequential"};
  options.evict.name = evictors[random.below(8)];
  options.prefetch.name = prefetchers[random.below(3)];
  const char* layouts[] = {"recorded", "none", "pytorch_caching"};
  options.layout.name = layouts[random.below(3)];
  options.system.host_links[0].both_ways_bytes_per_us = random.below(2) == 0 ? 0 : 15000;
  options.seed = seed;
  options.iterations = 25;
  return options;
}

struct Replay {
  RunResult result;
  std::uint64_t left_out = 0;
};
Replay replay(const Program& program, const RunOptions& options, EventSink* events) {
  const trace::Header header = Program::header();
  const RecordSource source = program.source();
  const RunObserver observer{.events = events, .progress = {}, .poll = {}, .reopen = {}, .state = {}};
  engine::RecordFeed feed(header, source, options);
  const engine::Hosted hosted{header, feed, options, observer};
  engine::Engine engine(options.system, {&hosted, 1});
  Replay out;
  out.result = std::move(engine.run().front());
  out.left_out = engine.left_out_iterations();
  return out;
}

// A full replay must see the same state recur.
void expect_same_recurrence(const RunResult& some, const RunResult& whole) {
  ASSERT_EQ(some.recurring.has_value(), whole.recurring.has_value());
  if (!some.recurring) return;
  EXPECT_EQ(some.recurring->first, whole.recurring->first);
  EXPECT_EQ(some.recurring->period, whole.recurring->period);
  const std::size_t end =
      whole.first_repeated + whole.repeated - 1;  // the host runs ahead, and nothing similar follows the last pass
  for (std::size_t i = some.recurring->first; i + some.recurring->period < end; ++i) {
    const IterationResult &one = whole.iterations[i], &later = whole.iterations[i + some.recurring->period];
    EXPECT_EQ(one.end - one.begin, later.end - later.begin) << i;
    EXPECT_EQ(text_of(difference(one.counters, later.counters)), text_of(Counters{})) << i;
  }
}

TEST(Recurrence, ResultsAreThoseOfAFullReplay) {
  std::uint64_t programs = 0, left_out = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    const Program program = random_training(seed);
    const RunOptions options = random_options(seed);
    Watched watched;  // a sink for events receives those of all iterations
    const Replay whole = replay(program, options, &watched);
    const Replay some = replay(program, options, nullptr);
    EXPECT_EQ(whole.left_out, 0u);
    EXPECT_EQ(text_of(some.result), text_of(whole.result));
    expect_same_recurrence(some.result, whole.result);
    EXPECT_EQ(some.result.iterations.size(), 25u);
    left_out += some.left_out;
    ++programs;
  }
  // On average about 10 of a program's 23 passes recur; the others never recur, or late.
  EXPECT_GT(left_out, programs * 23 / 3) << left_out;
}

// Three kinds of iterations over the same four objects.
class MixedKinds {
 public:
  explicit MixedKinds(std::uint64_t seed) : seed_(seed) {}
  // Returns a program with iterations of these kinds, then two of kind 0, the last of which is the repeated one. All
  // iterations have the same number of records, so that the following records have the same numbers in every history: a
  // kernel's random numbers depend on its number.
  Program with(const std::vector<std::uint64_t>& kinds) const {
    Random sizes(seed_);
    Program p;
    const std::uint64_t of[] = {300 * kKiB, 2 * kMiB, 5 * kMiB, 7 * kMiB};
    for (int i = 0; i < 4; ++i) p.host(p.alloc(of[sizes.below(4)]));
    p.sync();
    for (std::uint64_t index = 0; index < kinds.size() + 2; ++index) {
      p.add(trace::Range{trace::RangeKind::kIterationBegin, "", index});
      add_one(p, index < kinds.size() ? kinds[index] : 0);
      p.add(trace::Range{trace::RangeKind::kIterationEnd, "", index});
    }
    return p;
  }

 private:
  void add_one(Program& p, std::uint64_t kind) const {
    Random same(seed_ * 3 + kind);
    for (int i = 0; i < 5; ++i) {
      const trace::ObjectId id = 1 + same.below(4);
      if (same.below(5) == 0) {
        p.host(id, 0, 1 + same.below(p.pages(id)), trace::AccessMode::kWrite);
      } else {
        p.kernel("k", static_cast<std::int64_t>(same.below(200000)), {id}, {1 + same.below(4)});
      }
      p.sync();
    }
  }
  std::uint64_t seed_;
};

RunOptions random_settings(std::uint64_t seed, const Program& program) {
  Random random(seed * 271);
  RunOptions options = options_with(1);
  const char* evictors[] = {"lrm", "lru", "fifo", "clock", "sieve", "slru", "reserved_lru", "mru", "free_page_buffer"};
  const char* prefetchers[] = {"tree", "none", "sequential", "always_2mb", "next_line", "learned_ahead"};
  const char* migrators[] = {"first_touch", "first_touch", "access_counters", "delayed", "gmem"};
  const char* batchers[] = {"driver", "driver", "coalesce", "etc_like"};
  options.evict.name = evictors[random.below(9)];
  options.prefetch.name = prefetchers[random.below(6)];
  options.migrate.name = migrators[random.below(5)];
  options.batch.name = batchers[random.below(4)];
  options.system.driver.thrashing_enable = random.below(2) == 0;
  options.system.driver.thrashing_adaptive_lapse = random.below(2) == 0;
  options.system.host_links[0].both_ways_bytes_per_us = random.below(2) == 0 ? 0 : 15000;
  const std::uint64_t osf[] = {1250, 1500, 2000};
  const std::uint64_t footprint = measure_footprint(program.source(), options.layout);
  options.capacity_bytes =
      std::max<std::uint64_t>(2, footprint * 1000 / osf[random.below(3)] / kBlockBytes) * kBlockBytes;
  options.seed = seed;
  options.replay_all = true;
  return options;
}

// Different histories that end in one state continue alike. Recurrence within one history tests less: its states hardly
// differ except in values that always change.
TEST(Recurrence, HistoriesOfMixedKindsThatMeetGoOnAlike) {
  struct Next {
    std::string iteration;
    std::optional<StateDigest::Value> state;
  };
  constexpr std::uint64_t kMixed = 4, kRepetitions = 8;
  std::uint64_t met = 0, met_with_control_of_thrashing = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const MixedKinds kinds(seed);
    RunOptions options = random_settings(seed, kinds.with({}));
    SCOPED_TRACE(fmt::format("seed {}: {}, {}, {}, {}", seed, options.evict.name, options.prefetch.name,
                             options.migrate.name, options.batch.name));
    std::map<std::pair<std::uint64_t, std::uint64_t>, Next> by_state;
    Random order(seed);
    for (int history = 0; history < 6; ++history) {
      std::vector<std::uint64_t> mixed;
      for (std::uint64_t i = 0; i < kMixed; ++i) mixed.push_back(order.below(3));
      const Program program = kinds.with(mixed);
      const RecordSource source = program.source();
      std::vector<std::optional<StateDigest::Value>> states;
      RunObserver observer;
      observer.state = [&](const auto& state) { states.push_back(state); };
      options.iterations = kMixed + 2 + kRepetitions;
      const RunResult result = simulate(Program::header(), source, options, observer);
      ASSERT_EQ(result.iterations.size(), options.iterations);
      const std::size_t first = result.iterations.size() - states.size();
      for (std::size_t i = 0; i + 1 < states.size();
           ++i) {  // the host runs ahead, and nothing similar follows the last pass
        if (!states[i]) continue;
        const IterationResult& iteration = result.iterations[first + i];
        const Next next{fmt::format("{} ns, ideal {} ns\n{}", (iteration.end - iteration.begin).value,
                                    iteration.ideal.value, text_of(iteration.counters)),
                        states[i + 1]};
        const auto [other, is_new] = by_state.try_emplace({states[i]->high, states[i]->low}, next);
        if (is_new) continue;
        ++met;
        met_with_control_of_thrashing += options.system.driver.thrashing_enable ? 1 : 0;
        EXPECT_EQ(next.iteration, other->second.iteration) << "history " << history << ", iteration " << first + i;
        if (next.state && other->second.state) {
          EXPECT_TRUE(*next.state == *other->second.state);
        }
      }
    }
  }
  EXPECT_GT(met, 300u);
  EXPECT_GT(met_with_control_of_thrashing, 50u);
}

TEST(Recurrence, TimeDoesNotGrowWithIterations) {
  RunOptions options = random_options(3);
  options.iterations = 20'000;
  const Replay some = replay(random_training(3), options, nullptr);
  ASSERT_EQ(some.result.iterations.size(), 20'000u);
  EXPECT_GT(some.left_out, 19'900u);
  EXPECT_EQ(some.result.iterations.back().index, 19'999u);
}

TEST(Recurrence, WorkOnItsWayIsNotCompared) {
  Program p;
  const auto data = p.alloc(4 * kMiB);
  for (const std::uint64_t index : {0u, 1u, 2u}) {
    p.add(trace::Range{trace::RangeKind::kIterationBegin, "", index});
    p.kernel("k", 100000, {data});
    p.add(trace::Range{trace::RangeKind::kIterationEnd, "", index});
  }
  RunOptions options = options_with(4);
  options.iterations = 20;
  EXPECT_EQ(replay(p, options, nullptr).left_out, 0u);
}

// Makes three iterations with the records that `f` adds between the marks of each.
template <class F>
void add_iterations(Program& p, F&& f) {
  for (const std::uint64_t index : {0u, 1u, 2u}) {
    p.add(trace::Range{trace::RangeKind::kIterationBegin, "", index});
    f();
    p.sync();
    p.add(trace::Range{trace::RangeKind::kIterationEnd, "", index});
  }
}

// Expects that `replayed` of 20 iterations are replayed, with the results of a full replay.
void expect_recurs(const Program& p, RunOptions options, std::uint64_t replayed) {
  options.iterations = 20;
  Watched watched;
  const Replay whole = replay(p, options, &watched);
  const Replay some = replay(p, options, nullptr);
  EXPECT_EQ(some.left_out, 20 - replayed);
  EXPECT_EQ(text_of(some.result), text_of(whole.result));
  expect_same_recurrence(some.result, whole.result);
}

TEST(Recurrence, MemoryThatStaysFaultsInEveryIteration) {
  Program p;
  const auto weights = p.alloc(8 * kMiB);
  add_iterations(p, [&] { p.kernel("k", 100000, {}, {weights}); });
  // The recorded iterations before and after the repeated one, and two passes to see that they end alike.
  expect_recurs(p, options_with(2), 4);
}

TEST(Recurrence, WhatFollowsUsesTheMemoryOfThePassThatCameLast) {
  Program p;
  const auto weights = p.alloc(4 * kMiB);
  trace::ObjectId kept = 0;
  add_iterations(p, [&] {
    if (kept != 0) p.free(kept);
    kept = p.alloc(6 * kMiB);
    p.kernel("k", 100000, {weights}, {kept});
  });
  p.kernel("after", 30000, {kept}, {weights});
  p.sync();
  p.free(kept);
  // The kept object alternates between two places, so an even number of passes is skipped. Passes in the same place end
  // alike from the third and fourth pass on.
  expect_recurs(p, options_with(4), 8);
}

TEST(Recurrence, SeveralStreams) {
  Program p;
  const auto weights = p.alloc(4 * kMiB);
  add_iterations(p, [&] {
    const auto first = p.alloc_tensor(3 * kMiB);
    const auto second = p.alloc_tensor(5 * kMiB);
    p.kernel("produce", 50000, {weights}, {first});
    p.record_event(0, 7);
    p.wait_event(1, 7);
    p.kernel("consume", 70000, {first}, {second}, 1);
    p.record_event(1, 8);
    p.kernel("beside", 20000, {weights}, {});
    // Stream 0, to which they belong, may not use them yet: they wait beyond the end of the iteration.
    p.add(trace::TensorFree{first});
    p.add(trace::TensorFree{second});
  });
  RunOptions options = options_with(5);
  options.layout.name = "pytorch_caching";
  expect_recurs(p, options, 4);
}

TEST(Recurrence, WithoutFaults) {
  Program none;
  add_iterations(none, [&] { none.kernel("k", 100'000'000); });
  expect_recurs(none, options_with(0), 4);
  // The driver's thread sleeps longer and longer, which after a while makes no difference.
  Program before;
  const auto data = before.alloc(4 * kMiB);
  before.kernel("load", 1000, {}, {data});
  add_iterations(before, [&] { before.kernel("k", 100'000'000, {data}); });
  before.kernel("later", 1000, {}, {before.alloc(4 * kMiB)});
  expect_recurs(before, options_with(0), 7);
}

TEST(Recurrence, CountersDoNotWrap) {
  Counters sum, part;
  sum.remote_access_bytes = 1000;
  part.remote_access_bytes = std::uint64_t{1} << 43;
  part.kernels = 3;
  EXPECT_NO_THROW(engine::check_counts(sum, part, (std::uint64_t{1} << 20) - 1));
  try {
    engine::check_counts(sum, part, std::uint64_t{1} << 20);
    FAIL() << "2^63 + 1000 bytes";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "the counter remote_access_bytes goes beyond 2^63 in 1048576 more repetitions of 8796093022208 each; "
                 "allowed: fewer iterations");
  }
}

}  // namespace
}  // namespace uvmsim::recurrence_test
