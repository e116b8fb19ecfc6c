// Iterations that are left out because they recur: the results are those of a full replay.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "sim/common/random.h"
#include "sim/engine/engine.h"
#include "tests/engine/program.h"

namespace uvmsim {
namespace {

// Parameters, and iterations that all do the same: they allocate, copy, launch and free at random, and leave one
// object to the next one.
Program random_training(std::uint64_t seed) {
  Random random(seed);
  Program p;
  const std::uint64_t sizes[] = {300 * kKiB, 2 * kMiB, 5 * kMiB, 12 * kMiB};
  std::vector<trace::ObjectId> parameters;
  for (std::uint64_t i = 0; i < 1 + random.below(3); ++i) {
    parameters.push_back(p.alloc(sizes[random.below(4)]));
    p.host(parameters.back());
  }
  p.sync();
  const bool host_reads = random.below(4) == 0;
  const bool synchronised = random.below(8) != 0;
  const std::uint64_t kept_bytes = sizes[random.below(4)];
  const std::uint64_t of_iterations = random.below(1 << 20);
  trace::ObjectId kept = 0;
  for (const std::uint64_t index : {0u, 1u, 2u}) {
    Random same(of_iterations);
    p.add(trace::Range{trace::RangeKind::kIterationBegin, "", index});
    if (kept != 0) p.free(kept);
    std::vector<trace::ObjectId> live = parameters;
    for (std::uint64_t i = 0; i < 3 + same.below(8); ++i) {
      const trace::ObjectId id = live[same.below(live.size())];
      switch (same.below(6)) {
        case 0:
          if (host_reads) p.host(id, 0, 1 + same.below(p.pages(id)), trace::AccessMode::kRead);
          break;
        case 1:
          live.push_back(p.alloc(sizes[same.below(4)]));
          break;
        case 2:
          if (live.size() > parameters.size()) {
            p.sync();
            p.free(live.back());
            live.pop_back();
          }
          break;
        default:
          p.kernel("k", static_cast<std::int64_t>(same.below(300000)), {id}, {live[same.below(live.size())]});
      }
    }
    kept = p.alloc(kept_bytes);
    p.kernel("last", 20000, {live.back()}, {kept});
    p.sync();
    for (; live.size() > parameters.size(); live.pop_back()) p.free(live.back());
    if (!synchronised) p.kernel("on the way", 50000, {parameters[0]});
    p.add(trace::Range{trace::RangeKind::kIterationEnd, "", index});
  }
  return p;
}

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

std::string text_of(const Counters& counters) {
  std::string text;
  for_each_counter(counters,
                   [&](const char* name, std::uint64_t value) { text += fmt::format("{} {}\n", name, value); });
  return text;
}
std::string text_of(const RunResult& result) {
  std::string text =
      fmt::format("{} ns, ideal {} ns, {} records, settled {} from {}\n{}", result.total.value, result.ideal.value,
                  result.records, result.settled, result.first_settled, text_of(result.counters));
  for (const IterationResult& i : result.iterations) {
    text += fmt::format("iteration {}: {} to {}, ideal {}\n{}", i.index, i.begin.value, i.end.value, i.ideal.value,
                        text_of(i.counters));
  }
  return text;
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

}  // namespace
}  // namespace uvmsim
