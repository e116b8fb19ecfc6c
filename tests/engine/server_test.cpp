// SPDX-License-Identifier: Apache-2.0
// Several programs at once on one server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "sim/common/random.h"
#include "tests/engine/hosted_programs.h"
#include "tests/engine/random_training.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;

// Writes on the host and reads on the GPU, round after round; half of the data does not fit into `chunks`.
Program streaming(std::uint64_t chunks, int rounds) {
  Program p;
  const auto data = p.alloc(2 * chunks * kBlockBytes);
  p.host(data);
  for (int i = 0; i < rounds; ++i) {
    p.add(trace::Range{trace::RangeKind::kIterationBegin, "", static_cast<std::uint64_t>(i)});
    p.kernel("k", 100000, {data});
    p.sync();
    p.add(trace::Range{trace::RangeKind::kIterationEnd, "", static_cast<std::uint64_t>(i)});
  }
  return p;
}

std::uint64_t moved(const RunResult& result) { return bytes_in(result.counters) + bytes_out(result.counters); }

TEST(Server, ProgramsThatShareNothingRunAsIfAlone) {
  const config::SystemConfig one = server(1), three = server(3);
  std::uint64_t evictions = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const char* layouts[] = {"recorded", "none", "pytorch_caching"};
    const char* prefetchers[] = {"tree", "none", "markov"};
    std::vector<Program> programs;
    std::vector<RunOptions> options;
    for (std::uint64_t i = 0; i < 3; ++i) {
      programs.push_back(random_training(3 * seed + i));
      options.push_back(options_on(three, 2 + random.below(14), 6));
      options.back().layout.name = layouts[random.below(3)];
      options.back().prefetch.name = prefetchers[random.below(3)];
      options.back().include_host_gaps = random.below(2) == 0;
    }
    std::vector<ServerProgram> together;
    for (unsigned i = 0; i < 3; ++i) {
      together.push_back(hosted(std::string(1, static_cast<char>('a' + i)), programs[i], options[i], {2 - i}));
      together.back().start = Nanoseconds(static_cast<std::int64_t>(random.below(1000000)));
    }
    const std::vector<RunResult> results = simulate_server(together);
    for (std::size_t i = 0; i < 3; ++i) {
      RunOptions alone = options[i];
      alone.system = one;
      EXPECT_EQ(text_of(results[i]), text_of(programs[i].run(alone)));
      evictions += results[i].counters.evictions;
    }
  }
  EXPECT_GT(evictions, 1000u);
}

TEST(Server, SharedHostBandwidthSlowsDownAndMovesTheSame) {
  const Program program = streaming(8, 4);
  const auto run_with = [&](std::uint64_t host_bytes_per_us) {
    const config::SystemConfig system = server(2, host_bytes_per_us);
    const RunOptions options = options_on(system, 8);
    return run_together({hosted("a", program, options, {0}), hosted("b", program, options, {1})});
  };
  const std::vector<RunResult> apart = run_with(0), shared = run_with(10000);  // the bandwidth of one link
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_GT(shared[i].total, apart[i].total);
    EXPECT_EQ(moved(shared[i]), moved(apart[i]));
    EXPECT_EQ(shared[i].counters.kernels, apart[i].counters.kernels);
  }
  EXPECT_EQ(text_of(apart[0]), text_of(apart[1]));
  // Each link alone could carry the bytes in this time; together they need at least twice as long.
  const std::uint64_t bytes = moved(shared[0]) + moved(shared[1]);
  EXPECT_GE(std::max(shared[0].total, shared[1].total).value, static_cast<std::int64_t>(bytes * 1000 / 10000));
}

TEST(Server, TheSameAgain) {
  const Program program = random_training(5), other = random_training(8);
  const RunOptions options = options_on(server(2, 8000), 5, 8);
  const auto once = [&] {
    const auto results = run_together({hosted("a", program, options, {0}), hosted("b", other, options, {1})});
    return text_of(results[0]) + text_of(results[1]);
  };
  EXPECT_EQ(once(), once());
}

TEST(Server, WhoStartsWhenTheOtherHasEndedIsNotSlowedDown) {
  const Program program = streaming(8, 3);
  const RunOptions options = options_on(server(2, 10000), 8);
  const RunResult alone = std::move(run_together({hosted("a", program, options, {0})}).front());
  std::vector programs{hosted("a", program, options, {0}), hosted("b", program, options, {1})};
  programs[1].start = alone.total;
  const auto after = run_together(programs);
  EXPECT_EQ(text_of(after[0]), text_of(alone));
  EXPECT_EQ(text_of(after[1]), text_of(alone));
  programs[1].start = Nanoseconds(alone.total.value / 2);
  const auto half = run_together(programs);
  EXPECT_GT(half[0].total, alone.total);
  EXPECT_GT(half[1].total, alone.total);
}

TEST(Server, EventsAreThoseOfTheirProgram) {
  const Program program = streaming(4, 2), other = streaming(2, 3);
  const config::SystemConfig system = server(2);
  std::vector programs{hosted("a", program, options_on(system, 4), {1}),
                       hosted("b", other, options_on(system, 2), {0})};
  Watched first, second;
  programs[0].observer.events = &first;
  programs[1].observer.events = &second;
  programs[1].start = Nanoseconds(5000);
  const auto results = run_together(programs);
  EXPECT_EQ(first.kernels.size(), 2u);
  EXPECT_EQ(second.kernels.size(), 3u);
  for (const TransferEvent& transfer : first.transfers) EXPECT_EQ(transfer.device, 1);
  for (const TransferEvent& transfer : second.transfers) EXPECT_EQ(transfer.device, 0);
  EXPECT_EQ(first.evictions.size(), results[0].counters.evictions);
  EXPECT_EQ(second.evictions.size(), results[1].counters.evictions);
  // Events have the clock's time, results count from the start.
  EXPECT_GE(second.kernels.front().start, Nanoseconds(5000));
  EXPECT_LE(second.kernels.back().end - Nanoseconds(5000), results[1].iterations.back().end);
}

TEST(Server, ARepeatedProgramRunsUntilTheOthersHaveEnded) {
  const Program program = streaming(8, 6), neighbour = streaming(4, 2);
  const config::SystemConfig apart = server(2);
  std::vector programs{hosted("a", program, options_on(apart, 8), {0}),
                       hosted("b", neighbour, options_on(apart, 4), {1})};
  programs[1].repeat = true;
  const auto results = run_together(programs);
  EXPECT_EQ(text_of(results[0]), text_of(run_together({programs[0]}).front()));
  EXPECT_EQ(results[1].total, results[0].total);
  ASSERT_GT(results[1].iterations.size(), 3u);
  EXPECT_EQ(results[1].first_repeated + results[1].repeated, results[1].iterations.size());
  // Its completed work equals that of a run alone.
  RunOptions options = options_on(server(1), 4, results[1].iterations.size());
  const RunResult alone = neighbour.run(options);
  for (std::size_t i = 0; i < alone.iterations.size(); ++i) {
    EXPECT_EQ(results[1].iterations[i].index, i);
    EXPECT_EQ(results[1].iterations[i].end, alone.iterations[i].end);
    EXPECT_EQ(text_of(results[1].iterations[i].counters), text_of(alone.iterations[i].counters));
  }
  // It stops while it has work: another iteration would not have fitted.
  const Nanoseconds last = alone.iterations.back().end - alone.iterations.back().begin;
  EXPECT_LE(alone.iterations.back().end, results[0].total);
  EXPECT_GT(alone.iterations.back().end + last + last, results[0].total);
}

// Kernels on devices 0 and 1 of the trace, which pass data to each other.
Program spanning() {
  Program p;
  const auto a = p.alloc(6 * kBlockBytes), b = p.alloc(3 * kBlockBytes);
  p.host(a);
  for (int i = 0; i < 3; ++i) {
    p.kernel("first", 50000, {a}, {b}).device = 0;
    p.sync();
    p.kernel("second", 50000, {b}, {a}, 1).device = 1;
    p.sync();
  }
  p.prefetch(b, 1);
  p.sync();
  return p;
}

TEST(Server, ATraceMaySpanGpusAndTheyMayBeAnyOfTheServer) {
  const Program program = spanning(), other = streaming(4, 3);
  const RunResult two = program.run(options_on(server(2), 5));
  const config::SystemConfig four = server(4);
  std::vector programs{hosted("spans", program, options_on(four, 5), {3, 1}),
                       hosted("other", other, options_on(four, 4), {2})};
  Watched watched;
  programs[0].observer.events = &watched;
  const auto results = run_together(programs);
  EXPECT_EQ(text_of(results[0]), text_of(two));
  EXPECT_EQ(text_of(results[1]), text_of(other.run(options_on(server(1), 4))));
  for (const TransferEvent& transfer : watched.transfers) EXPECT_TRUE(transfer.device == 3 || transfer.device == 1);
}

TEST(Server, CopiesAndFillsRunOnTheProgramsGpu) {
  Program p;
  const auto data = p.alloc(4 * kBlockBytes);
  p.host(data);
  p.add(trace::Memset{data, 0, p.bytes(data)});
  p.sync();
  const config::SystemConfig system = server(2);
  std::vector programs{hosted("a", p, options_on(system, 8), {1})};
  Watched watched;
  programs[0].observer.events = &watched;
  run_together(programs);
  EXPECT_FALSE(watched.transfers.empty());
  for (const TransferEvent& transfer : watched.transfers) EXPECT_EQ(transfer.device, 1);
}

TEST(Server, SaysWhatCannotBe) {
  const Program program = streaming(2, 1);
  const config::SystemConfig system = server(2);
  const RunOptions options = options_on(system, 2);
  const auto on = [&](const char* name, std::vector<unsigned> gpus) {
    return hosted(name, program, options, std::move(gpus));
  };
  EXPECT_EQ(complaint_of({on("a", {1, 1})}), "program 'a' names GPU 1 twice");
  EXPECT_EQ(complaint_of({on("a", {2})}), "program 'a' uses GPU 2; allowed on system 'plain': 0 to 1");
  EXPECT_EQ(complaint_of({on("a", {})}), "program 'a' has no GPU");
  EXPECT_EQ(complaint_of({}), "no program to run");
  std::vector all{on("a", {0}), on("b", {1})};
  for (ServerProgram& p : all) p.repeat = true;
  EXPECT_THAT(complaint_of(all), HasSubstr("allowed: at least one that is not"));
  std::vector foresight{on("a", {0}), on("b", {1})};
  foresight[1].options.evict.name = "min";
  EXPECT_THAT(complaint_of(foresight), HasSubstr("program 'b': "));
  EXPECT_THAT(complaint_of(foresight), HasSubstr("knows the future (class D4) of one program alone"));
  foresight[1].options.evict.name = "lrm";
  foresight[0].options.plan.name = "deepum";
  EXPECT_THAT(complaint_of(foresight), HasSubstr("program 'a': plan policy 'deepum' works for one program alone"));
  // A mistake in a trace names its program, even while another program is repeated without end.
  Program far;
  far.kernel("k", 1000).device = 1;
  std::vector wrong{hosted("a", far, options, {0}), on("b", {1})};
  wrong[1].repeat = true;
  EXPECT_THAT(complaint_of(wrong), HasSubstr("program 'a': record 1: kernel 'k' runs on device 1; the program has 1"));
}

}  // namespace
}  // namespace uvmsim
