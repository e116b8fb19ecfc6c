// Iterations that are left out because they recur: the results are those of a full replay.
#include <gtest/gtest.h>

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
  const RunObserver observer{events, {}, {}};
  engine::RecordFeed feed(header, source, options);
  const engine::Hosted hosted{header, feed, options, observer};
  engine::Engine engine(options.system, {&hosted, 1});
  Replay out;
  out.result = std::move(engine.run().front());
  out.left_out = engine.left_out_iterations();
  return out;
}

TEST(Recurrence, ResultsAreThoseOfAFullReplay) {
  std::uint64_t programs = 0, left_out = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    const Program program = random_training(seed);
    const RunOptions options = random_options(seed);
    Watched watched;  // who watches events gets all of them
    const Replay whole = replay(program, options, &watched);
    const Replay some = replay(program, options, nullptr);
    EXPECT_EQ(whole.left_out, 0u);
    EXPECT_EQ(text_of(some.result), text_of(whole.result));
    EXPECT_EQ(some.result.iterations.size(), 25u);
    left_out += some.left_out;
    ++programs;
  }
  // A third of the 22 repetitions of a program in the mean; the others never recur, or late.
  EXPECT_GT(left_out, programs * 22 / 4);
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

// Three iterations; between the marks of each whatever `f` adds.
template <class F>
void add_iterations(Program& p, F&& f) {
  for (const std::uint64_t index : {0u, 1u, 2u}) {
    p.add(trace::Range{trace::RangeKind::kIterationBegin, "", index});
    f();
    p.sync();
    p.add(trace::Range{trace::RangeKind::kIterationEnd, "", index});
  }
}

void expect_recurs(const Program& p, RunOptions options) {
  options.iterations = 20;
  Watched watched;
  const Replay whole = replay(p, options, &watched);
  const Replay some = replay(p, options, nullptr);
  EXPECT_GT(some.left_out, 10u);
  EXPECT_EQ(text_of(some.result), text_of(whole.result));
}

TEST(Recurrence, MemoryThatStaysFaultsInEveryIteration) {
  Program p;
  const auto weights = p.alloc(8 * kMiB);
  add_iterations(p, [&] { p.kernel("k", 100000, {}, {weights}); });
  expect_recurs(p, options_with(2));
}

}  // namespace
}  // namespace uvmsim::recurrence_test
