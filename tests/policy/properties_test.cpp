// SPDX-License-Identifier: Apache-2.0
// The properties that published policies are checked by (V1 to V16; README.md lists where each is tested), on random
// programs in the whole simulator and on random streams of pages, for every built-in policy.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/bounds/bounds.h"
#include "sim/config/schema.h"
#include "tests/bounds/random_program.h"
#include "tests/engine/program.h"
#include "tests/policy/golden_streams.h"

namespace uvmsim::policy {
namespace {

// Returns the policies that fill this slot alone.
std::vector<std::string> policies_of(Slot slot) {
  std::vector<std::string> names;
  for (const PolicyEntry* entry : built_ins()->list()) {
    if (entry->slot == slot && !entry->joint()) names.push_back(entry->info.name);
  }
  return names;
}

std::vector<std::string> all_policies() {
  std::vector<std::string> names;
  for (const PolicyEntry* entry : built_ins()->list()) {
    if (entry->slot != entry->slots.front()) continue;
    names.push_back(std::string(slot_name(entry->slot)) + "_" + entry->info.name);
  }
  return names;
}

// Doubles the times among a policy's parameters.
PolicyChoice twice_as_slow(PolicyChoice choice) {
  if (choice.name == "coalesce") choice.parameters = {{"delay_us", "40"}};
  if (choice.name == "late_ahead") {
    choice.parameters = {{"collect_us", "100"}, {"decide_us", "40"}, {"fault_ns", "200"}};
  }
  return choice;
}

// Chooses a policy such as "prefetch_tree" or "plan_g10" in all slots that it fills; the others keep their policies.
void choose(const std::string& label, RunOptions& options) {
  for (const PolicyEntry* entry : built_ins()->list()) {
    if (label != std::string(slot_name(entry->slot)) + "_" + entry->info.name) continue;
    for (const Slot slot : entry->slots) (options.*choice_of(slot)).name = entry->info.name;
  }
}

uvmsim::Program some_program(std::uint64_t seed, bool advice) {
  Random random(seed);
  RandomProgramOptions options;
  options.largest_object_pages = 1200;
  options.records = 24;
  options.streams = false;
  options.advice = advice;
  return random_program(random, options);
}

std::vector<std::uint64_t> numbers_of(const RunResult& result) {
  std::vector<std::uint64_t> numbers = {static_cast<std::uint64_t>(result.total.value)};
  for_each_counter(result.counters, [&](const char*, std::uint64_t value) { numbers.push_back(value); });
  return numbers;
}

class EveryPolicy : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(V, EveryPolicy, ::testing::ValuesIn(all_policies()),
                         [](const auto& info) { return info.param; });

// V1: capacity is never exceeded (and the audits of checked builds find that pages and frames balance); the pages that
// were fetched equal those that left plus those that are resident. V15: the same seed gives the same run.
TEST_P(EveryPolicy, KeepsWithinCapacityLosesNothingAndRepeats) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    const uvmsim::Program program = some_program(seed, seed % 2 == 0);
    RunOptions options = options_with(1 + seed);
    options.seed = seed;
    choose(GetParam(), options);
    Watched watched;
    const RunResult result = program.run(options, &watched);
    EXPECT_LE(watched.peak_chunk_bytes, options.capacity_bytes);
    EXPECT_LE(watched.resident_bytes, options.capacity_bytes);
    EXPECT_EQ(result.counters.policy_shortfalls, 0u);
    EXPECT_EQ(numbers_of(program.run(options)), numbers_of(result));
  }
}

// V6: no policy beats a bound.
TEST_P(EveryPolicy, BeatsNoBound) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    const uvmsim::Program program = some_program(100 + seed, seed % 2 == 0);
    RunOptions options = options_with(seed);
    choose(GetParam(), options);
    const bounds::Bounds bounds = bounds::compute_bounds(uvmsim::Program::header(), program.source(), options);
    const RunResult result = program.run(options);
    EXPECT_LE(bounds.time.compute, bounds.time.cold);
    EXPECT_LE(bounds.time.cold, bounds.time.min);
    EXPECT_LE(bounds.time.min, bounds.time.windowed);
    EXPECT_LE(bounds.time.windowed, bounds.time.write_backs);
    EXPECT_LE(bounds.time.best(), result.total);
    EXPECT_LE(bounds.bytes.htod, bytes_in(result.counters));
    EXPECT_LE(bounds.bytes.dtoh, bytes_out(result.counters));
  }
}

// V8: with memory for everything there are no evictions, so the evictor makes no difference.
TEST(EveryEvictor, IsTheSameWhereAllFits) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const uvmsim::Program program = some_program(200 + seed, true);
    RunOptions options = options_with(200);
    const std::vector<std::uint64_t> expected = numbers_of(program.run(options));
    for (const std::string& name : policies_of(Slot::kEvict)) {
      const PolicyEntry& entry = built_ins()->find(Slot::kEvict, name);
      options.evict.name = name;
      const RunResult result = program.run(options);
      EXPECT_EQ(result.counters.evictions, 0u) << name;
      // With memory in 64 KB pieces, translations and first touches differ.
      if (entry.info.granularity != Granularity::kBigPage && name != "free_page_buffer") {
        EXPECT_EQ(numbers_of(result), expected) << name << ", seed " << seed;
      }
    }
  }
}

// V8: a tree that is never dense enough fetches nothing; one that must be full only completes units.
TEST(Tree, DegeneratesToNoneAndToSequential) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const uvmsim::Program program = some_program(300 + seed, false);
    RunOptions options = options_with(seed % 3 == 0 ? 0 : 2 + seed);
    const auto with = [&](const char* name, std::vector<std::pair<std::string, std::string>> parameters) {
      options.prefetch = {name, std::move(parameters)};
      return numbers_of(program.run(options));
    };
    EXPECT_EQ(with("tree", {{"threshold", "100"}}), with("none", {}));
    EXPECT_EQ(with("sequential", {}), with("none", {{"granularity", "64k"}}));
  }
}

// Returns the program with one thread per kernel, which touches page after page, so that the GPU's own spacing of
// requests, which is no parameter, has no effect.
uvmsim::Program by_one_thread(const uvmsim::Program& program) {
  uvmsim::Program result;
  for (trace::Record record : program.records()) {
    if (auto* kernel = std::get_if<trace::Kernel>(&record)) {
      kernel->grid = kernel->block = {1, 1, 1};
      kernel->distribution = trace::Distribution::kThreadChunk;
      kernel->phases.clear();
      kernel->touches.clear();
      for (std::uint32_t slot = 0; slot < kernel->accesses.size(); ++slot) {
        for (const trace::Extent& extent : kernel->accesses[slot].extents) {
          const bool reads = extent.mode == trace::AccessMode::kRead;
          for (std::uint64_t i = 0; i < extent.count; ++i) {
            kernel->touches.push_back(
                {slot, extent.first + i, reads ? trace::AccessMode::kRead : trace::AccessMode::kWrite});
          }
        }
      }
    }
    std::visit([&](auto& r) { result.add(std::move(r)); }, record);
  }
  return result;
}

// V9: with twice the bandwidth and half of every other cost, including kernel times, a run takes half the time. The
// test doubles the times instead, which keeps whole numbers whole. The result is not exact: the times of a kernel's
// steps are rounded, which may move a fault into the next batch, or a prefetch call behind other work of its stream.
// This may happen in at most two of the four programs.
TEST_P(EveryPolicy, TakesTwiceTheTimeWhereEverythingIsHalfAsFast) {
  unsigned moved = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    const uvmsim::Program program = by_one_thread(some_program(400 + seed, seed % 2 == 0));
    uvmsim::Program slow_program;
    for (const trace::Record& record : program.records()) {
      std::visit(
          [&](auto r) {
            if constexpr (requires { r.host_gap_ns; }) r.host_gap_ns *= 2;
            if constexpr (requires { r.duration_ns; }) r.duration_ns *= 2;
            slow_program.add(std::move(r));
          },
          record);
    }
    RunOptions fast = options_with(2 + seed);
    choose(GetParam(), fast);
    config::LinkConfig& link = fast.system.host_links[0];
    link.host_to_device.bytes_per_us = link.device_to_host.bytes_per_us = 2 * kPage;  // a page takes whole nanoseconds
    fast.system.gmmu.resume_spread_ns = 0;
    RunOptions slow = fast;
    slow.system.gmmu.fault_ps *= 2;
    for (const config::Parameter& parameter : config::parameters(slow.system)) {
      const bool time = parameter.unit == config::Unit::kNanoseconds;
      if (!time && parameter.unit != config::Unit::kBytesPerMicrosecond) continue;
      const auto value = std::get<std::uint64_t>(config::value_of(parameter));
      config::store(parameter, time ? value * 2 : value / 2);
    }
    slow.batch = twice_as_slow(fast.batch);
    slow.plan = twice_as_slow(fast.plan);
    const RunResult quick = program.run(fast), late = slow_program.run(slow);
    // The cost of finding a victim belongs to the policy and is the same in both runs; copies may hide some of it.
    const PolicyInfo& evictor = built_ins()->find(Slot::kEvict, fast.evict.name).info;
    const auto finding =
        static_cast<double>(evictor.decision_cost.value) * static_cast<double>(quick.counters.evictions);
    // If a rounded nanosecond moves one batch, all later random draws are for other blocks.
    const bool draws = GetParam() == "prefetch_random";
    const auto quick_ns = static_cast<double>(quick.total.value);
    const double miss = std::abs(static_cast<double>(late.total.value) - (2 * quick_ns - finding / 2)) - finding / 2;
    EXPECT_LE(miss, 0.05 * quick_ns);
    if (!draws && miss > 0.002 * quick_ns) ++moved;
  }
  EXPECT_LE(moved, 2u);
}

// V11: without prefetching and with memory for everything, exactly the touched pages are fetched; with prefetching at
// least those. Every fetched page is counted as demanded or prefetched.
TEST(EveryPrefetcher, BringsWhatIsTouchedAndSaysWhatElse) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    uvmsim::Program program;
    Random random(seed);
    std::vector<trace::ObjectId> objects;
    std::map<trace::ObjectId, std::set<std::uint64_t>> touched;
    for (int i = 0; i < 4; ++i) {
      objects.push_back(program.alloc((1 + random.below(3)) * kBlockBytes));  // smaller ones share blocks
      program.host(objects.back());
    }
    for (int i = 0; i < 12; ++i) {
      const trace::ObjectId id = objects[static_cast<std::size_t>(random.below(4))];
      const std::uint64_t first = random.below(program.pages(id));
      const std::uint64_t count = 1 + random.below(std::min<std::uint64_t>(60, program.pages(id) - first));
      program.walk("w", id, first, count);
      for (std::uint64_t page = first; page < first + count; ++page) touched[id].insert(page);
    }
    program.sync();
    std::uint64_t pages = 0, all = 0;
    for (const auto& [id, set] : touched) pages += set.size();
    for (const trace::ObjectId id : objects) all += program.pages(id);
    for (const std::string& name : policies_of(Slot::kPrefetch)) {
      SCOPED_TRACE(name);
      RunOptions options = options_with(64);
      options.prefetch.name = name;
      const Counters counters = program.run(options).counters;
      EXPECT_EQ(counters.htod_fault_bytes, counters.faulting_pages * kPage);
      EXPECT_EQ(bytes_in(counters), counters.htod_fault_bytes + counters.htod_prefetch_bytes);
      EXPECT_GE(bytes_in(counters), pages * kPage);
      EXPECT_LE(bytes_in(counters), all * kPage);
      EXPECT_LE(counters.faulting_pages, pages);
      if (name == "none") {
        EXPECT_EQ(bytes_in(counters), pages * kPage);
        EXPECT_EQ(counters.htod_prefetch_bytes, 0u);
      }
    }
  }
}

// V10: a threshold of one access does not delay; a threshold above the number of accesses leaves everything that is
// read on the host.
TEST(Delayed, IsFirstTouchAtOneEndAndZeroCopyOfWhatIsReadAtTheOther) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const uvmsim::Program program = some_program(500 + seed, seed % 2 == 0);
    RunOptions options = options_with(seed % 3 == 0 ? 0 : 2 + seed);
    const RunResult first_touch = program.run(options);
    options.migrate = {"delayed", {{"mode", "always"}, {"threshold", "1"}}};
    EXPECT_EQ(numbers_of(program.run(options)), numbers_of(first_touch));
  }
  Random random(10);
  for (int round = 0; round < 8; ++round) {
    uvmsim::Program program;
    std::vector<trace::ObjectId> objects;
    for (int i = 0; i < 3; ++i) {
      objects.push_back(program.alloc((1 + random.below(3 * kPagesPerBlock)) * kPage));
      program.host(objects.back());
    }
    std::uint64_t touched = 0;
    for (int i = 0; i < 10; ++i) {
      const trace::ObjectId id = objects[static_cast<std::size_t>(random.below(3))];
      const std::uint64_t first = random.below(program.pages(id));
      const std::uint64_t count = 1 + random.below(program.pages(id) - first);
      program.kernel("r", 1000, {id}).accesses[0].extents = {{first, count, trace::AccessMode::kRead}};
      touched += count;
    }
    program.sync();
    RunOptions options = options_with(2);
    options.migrate = {"delayed", {{"mode", "always"}, {"threshold", "65535"}}};
    const Counters counters = program.run(options).counters;
    EXPECT_EQ(bytes_in(counters), 0u);
    EXPECT_EQ(bytes_out(counters), 0u);
    EXPECT_EQ(counters.evictions, 0u);
    EXPECT_EQ(counters.remote_access_bytes, touched * kPage);
  }
}

// V13: if victims are known and evicted ahead of need, a link that carries as much out as in hides evictions: a stream
// through a small memory is as fast as the link, and as fast as a stream that evicts nothing.
TEST(EvictionAheadOfNeed, CostsAStreamNothingWhileTheLinkIsBusyBothWays) {
  constexpr std::uint64_t kBlocks = 192;
  const auto time_per_block = [&](const char* planner, std::uint64_t chunks) {
    uvmsim::Program program;
    const trace::ObjectId stream = program.alloc(kBlocks * kBlockBytes);
    program.host(stream);
    program.sync();
    for (std::uint64_t block = 0; block < kBlocks; ++block) {
      program.kernel("k" + std::to_string(block), 1000, {}, {stream}).accesses[0].extents = {
          {block * kPagesPerBlock, kPagesPerBlock, trace::AccessMode::kReadWrite}};
    }
    program.sync();
    RunOptions options = options_with(chunks);
    options.plan = {planner, {}};
    options.system.costs.evict_page_ns = options.system.costs.unmap_gpu_ns = 0;  // only the link is tested
    Watched watched;
    EXPECT_EQ(program.run(options, &watched).counters.evictions == 0, chunks > kBlocks) << planner;
    const Nanoseconds duration = watched.kernel("k191").end - watched.kernel("k63").end;  // memory is full from 40 on
    return static_cast<double>(duration.value) / 128;
  };
  const double unhindered = time_per_block("kernel_lookahead", 2 * kBlocks);
  // This planner moves a block while its kernel faults on it; its evictions delay the batches in between.
  EXPECT_NEAR(time_per_block("kernel_lookahead", 40), unhindered, 0.18 * unhindered);
  const double link = static_cast<double>(kBlockBytes) / 10;  // 10 GB/s
  EXPECT_NEAR(time_per_block("aggressive", 40), link, 0.03 * link);
}

Pages random_pages(Random& random, std::uint64_t universe, int length) {
  Pages pages;
  for (int i = 0; i < length; ++i) pages.push_back(random.below(1 + random.below(universe)));
  return pages;
}

// V3: MIN misses no more often with more memory; pages that LRU and MIN hold, they also hold with more memory.
TEST(Streams, LruAndMinAreStackAlgorithms) {
  Random random(31);
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t universe = 3 + random.below(12);
    const Pages pages = random_pages(random, universe, 150);
    for (const char* name : {"lru", "min"}) {
      const PolicyEntry& entry = built_ins()->find(Slot::kEvict, name);
      for (std::uint32_t frames = 1; frames < universe; ++frames) {
        Future near = stream_future(pages), wide = stream_future(pages);
        PageCache small(entry, {}, frames, 1, &near), large(entry, {}, frames + 1, 1, &wide);
        for (const std::uint64_t page : pages) {
          small.access(page);
          large.access(page);
          if (std::string_view(name) == "min") continue;  // it may evict any of the pages that are never used again
          for (std::uint64_t p = 0; p < universe; ++p) ASSERT_TRUE(!small.contains(p) || large.contains(p));
        }
        ASSERT_GE(small.misses(), large.misses()) << name;
      }
    }
  }
}

// V4: one pass over the stream gives the misses of LRU with any memory.
TEST(Streams, LruMissesFollowFromStackDistances) {
  Random random(41);
  for (int round = 0; round < 40; ++round) {
    const Pages pages = random_pages(random, 20, 300);
    std::vector<std::uint64_t> stack;           // most recent first
    std::map<std::uint64_t, std::uint64_t> at;  // distance -> accesses
    std::uint64_t cold = 0;
    for (const std::uint64_t page : pages) {
      const auto place = std::find(stack.begin(), stack.end(), page);
      if (place == stack.end()) {
        ++cold;
      } else {
        ++at[static_cast<std::uint64_t>(place - stack.begin()) + 1];
        stack.erase(place);
      }
      stack.insert(stack.begin(), page);
    }
    for (std::uint32_t frames = 1; frames <= 21; ++frames) {
      std::uint64_t misses = cold;
      for (const auto& [distance, accesses] : at) misses += distance > frames ? accesses : 0;
      ASSERT_EQ(misses_of("lru", pages, frames), misses) << frames;
    }
  }
}

// V9: the names of pages do not matter. (Evictors that look at neighbours, or draw random numbers, are left out.)
TEST(Streams, NamesOfPagesDoNotMatter) {
  Random random(51);
  for (int round = 0; round < 40; ++round) {
    const Pages pages = random_pages(random, 24, 300);
    std::vector<std::uint64_t> names(24);
    for (std::uint64_t i = 0; i < 24; ++i) names[static_cast<std::size_t>(i)] = i;
    for (std::size_t i = 23; i > 0; --i) std::swap(names[i], names[static_cast<std::size_t>(random.below(i + 1))]);
    Pages renamed;
    for (const std::uint64_t page : pages) renamed.push_back(names[static_cast<std::size_t>(page)]);
    for (const char* name : {"fifo", "lru", "mru", "clock", "lfu", "lrm", "sieve", "s3_fifo", "2q", "arc", "slru",
                             "lirs", "lru_k", "gdsf", "landlord", "min"}) {
      const auto frames = static_cast<std::uint32_t>(2 + random.below(20));
      ASSERT_EQ(misses_of(name, renamed, frames), misses_of(name, pages, frames)) << name;
    }
  }
}

// V14: a program that always accesses the one page that is missing gets a miss every time, under any evictor; MIN,
// which knows the program, hardly ever misses.
TEST(Streams, AnAdversaryMakesEveryDemandPolicyMiss) {
  constexpr std::uint64_t kLength = 400;
  for (const std::string& name : policies_of(Slot::kEvict)) {
    const PolicyEntry& entry = built_ins()->find(Slot::kEvict, name);
    if (entry.wants_future) continue;
    for (const std::uint32_t frames : {1u, 4u, 9u}) {
      PageCache cache(entry, {}, frames);
      Pages asked;
      for (std::uint64_t i = 0; i < kLength; ++i) {
        std::uint64_t missing = 0;
        while (cache.contains(missing)) ++missing;
        ASSERT_LE(missing, frames) << name;
        asked.push_back(missing);
        ASSERT_FALSE(cache.access(missing));
      }
      EXPECT_EQ(cache.misses(), kLength) << name;
      // Of frames + 1 pages, each replacement by MIN lasts for at least as many accesses as there are frames.
      EXPECT_LE(misses_of("min", asked, frames), (kLength + frames - 1) / frames + frames) << name;
    }
  }
}

}  // namespace
}  // namespace uvmsim::policy
