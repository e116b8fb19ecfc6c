// SPDX-License-Identifier: Apache-2.0
// Properties of every program: bytes are conserved, repeated runs are equal, higher costs never make a program faster.
#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "sim/common/random.h"
#include "sim/config/load_system.h"
#include "sim/config/schema.h"
#include "sim/report/result_json.h"
#include "sim/trace/validate.h"
#include "tests/engine/program.h"

namespace uvmsim {
namespace {

// Makes a few objects and 40 operations on them. With `free_and_hint` also frees, discards and advice, after which
// pages may migrate or be dropped without a copy.
Program random_program(std::uint64_t seed, bool free_and_hint) {
  Random random(seed);
  Program program;
  std::vector<trace::ObjectId> live;
  const auto allocate = [&] {
    const std::uint64_t sizes[] = {8 * kPage, 300 * kPage, kBlockBytes, kBlockBytes + 48 * kPage, 3 * kBlockBytes};
    live.push_back(program.alloc(sizes[random.below(5)]));
  };
  for (int i = 0; i < 4; ++i) allocate();
  for (int i = 0; i < 40; ++i) {
    const std::size_t index = random.below(live.size());
    const trace::ObjectId id = live[index];
    const std::uint64_t first = random.below(program.pages(id));
    const std::uint64_t count = 1 + random.below(program.pages(id) - first);
    const auto mode = static_cast<trace::AccessMode>(1 + random.below(3));
    const auto device = static_cast<std::int32_t>(random.below(2)) - 1;
    switch (random.below(free_and_hint ? 10 : 6)) {
      case 0:
      case 1: {
        trace::Kernel& kernel = program.kernel("k", 20000, {id}, {live[random.below(live.size())]},
                                               static_cast<std::uint32_t>(random.below(3)));
        kernel.accesses[0].extents.edit()[0] = {first, count, mode};
        if (kernel.accesses[1].object == id) kernel.accesses.pop_back();
        break;
      }
      case 2:
        program.walk("w", id, first, std::min<std::uint64_t>(count, 50), mode);
        break;
      case 3:
        program.host(id, first, std::min<std::uint64_t>(count, 60), mode);
        break;
      case 4:
        program.add(trace::Prefetch{id, first * kPage, count * kPage, device, 1, 0});
        break;
      case 5:
        program.add(trace::Memset{id, first * kPage, count * kPage, 2, 0});
        break;
      case 6:
        program.advise(id, static_cast<trace::Advice>(random.below(6)), device);
        break;
      case 7:
        program.add(trace::Discard{id, first * kPage, count * kPage, 0});
        break;
      case 8:
        allocate();
        break;
      default:
        if (live.size() > 1) {
          program.free(id);
          live.erase(live.begin() + static_cast<std::ptrdiff_t>(index));
        }
    }
  }
  program.sync();
  return program;
}

RunOptions random_options(std::uint64_t seed) {
  Random random(seed * 977);
  RunOptions options = options_with(1 + random.below(10));
  const PolicyChoice evictors[] = {{"lrm", {}},
                                   {"lru", {}},
                                   {"lru", {{"granularity", "64k"}}},
                                   {"arc", {}},
                                   {"free_page_buffer", {}},
                                   {"tree_pre_eviction", {}}};
  options.evict = evictors[random.below(6)];
  const char* prefetchers[] = {"tree", "none", "sequential"};
  options.prefetch.name = prefetchers[random.below(3)];
  options.layout = random.below(2) == 0 ? "recorded" : "none";
  options.system.driver.access_counter_migration = random.below(4) == 0;
  options.system.host.large_pages = random.below(4) != 0;
  options.seed = seed;
  return options;
}

// Bytes that migrated to the GPU = resident bytes + bytes that left. No other operation here creates or removes pages.
// (The audits inside check much more.)
TEST(Properties, BytesAreConserved) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    Watched watched;
    const RunOptions options = random_options(seed);
    const Counters c = random_program(seed, false).run(options, &watched).counters;
    EXPECT_EQ(bytes_in(c) + c.populated_pages * kPage, watched.resident_bytes + bytes_out(c));
    EXPECT_LE(watched.resident_bytes, options.capacity_bytes);
    EXPECT_LE(watched.peak_chunk_bytes, options.capacity_bytes);
  }
}

TEST(Properties, EveryRandomProgramEndsWithItsBooksInOrder) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    const Program program = random_program(seed, true);
    const RunResult result = program.run(random_options(seed));
    EXPECT_EQ(result.records, program.records().size());
    EXPECT_LE(result.ideal, result.total);
  }
}

// Iterations that follow one another from the first record to the end of the last work include all of the run.
TEST(Properties, IdealTimesOfIterationsAddUpToThatOfTheRun) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    const Program program = random_program(seed, true);
    const auto mark = [](trace::RangeKind kind, std::uint64_t index) { return trace::Range{kind, "", index}; };
    std::vector<trace::Record> records;
    std::uint64_t index = 0;
    records.push_back(mark(trace::RangeKind::kIterationBegin, index));
    for (const trace::Record& record : program.records()) {
      records.push_back(record);
      if (records.size() % 8 != 0) continue;
      records.push_back(mark(trace::RangeKind::kIterationEnd, index));
      records.push_back(mark(trace::RangeKind::kIterationBegin, ++index));
    }
    records.push_back(mark(trace::RangeKind::kIterationEnd, index));
    const auto source = [&records, next = std::size_t{0}](trace::Record& record) mutable {
      if (next == records.size()) return false;
      record = records[next++];
      return true;
    };
    const RunOptions options = random_options(seed);
    const RunResult result = simulate(Program::header(), source, options);
    ASSERT_EQ(result.iterations.size(), index + 1);
    Nanoseconds sum{};
    for (const IterationResult& iteration : result.iterations) {
      EXPECT_GE(iteration.ideal.value, 0);
      sum += iteration.ideal;
    }
    EXPECT_EQ(sum, result.ideal);
    EXPECT_EQ(result.ideal, program.run(options).ideal);  // marks take no time
  }
}

// A program that validates runs, whatever its streams and host wait for; a program that does not validate is refused by
// both.
TEST(Properties, WhatValidatesRuns) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed * 31);
    const auto any_sync = [&random] {
      const auto stream = static_cast<std::uint32_t>(random.below(40) == 0 ? 4090 + random.below(12) : random.below(4));
      return trace::Sync{static_cast<trace::SyncKind>(random.below(5)), stream, random.below(3), 0};
    };
    const Program program = random_program(seed, true);
    std::vector<trace::Record> records;
    for (const trace::Record& record : program.records()) {
      if (random.below(2) == 0) records.push_back(any_sync());
      records.push_back(record);
    }
    bool validates = true;
    trace::Validator validator("program", Program::header());
    try {
      for (const trace::Record& record : records) validator.check(record);
    } catch (const InputError&) {
      validates = false;
    }
    const auto source = [&records, next = std::size_t{0}](trace::Record& record) mutable {
      if (next == records.size()) return false;
      record = records[next++];
      return true;
    };
    if (validates) {
      const RunResult result = simulate(Program::header(), source, random_options(seed));
      EXPECT_LE(result.ideal, result.total);
    } else {
      EXPECT_THROW(simulate(Program::header(), source, random_options(seed)), InputError);
    }
  }
}

// The counters are the sums of the corresponding events.
TEST(Properties, CountersAgreeWithEvents) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Watched watched;
    const Counters c = random_program(seed, true).run(random_options(seed), &watched).counters;
    std::uint64_t in = 0;
    std::uint64_t out = 0;
    for (const TransferEvent& t : watched.transfers) {
      (t.direction == TransferDirection::kHostToDevice ? in : out) += t.bytes;
      EXPECT_LT(t.start, t.end);
    }
    EXPECT_EQ(in, bytes_in(c));
    EXPECT_EQ(out, bytes_out(c));
    EXPECT_EQ(watched.evictions.size(), c.evictions);
    EXPECT_EQ(watched.cpu_faults.size(), c.cpu_faults);
  }
}

std::string json_of(const Program& program, const RunOptions& options) {
  report::RunRecord record;
  record.system_json = "{}";
  record.header = Program::header();
  record.options = options;
  record.result = program.run(options);
  return report::result_json(record);
}

TEST(Properties, TheSameRunGivesTheSameBytes) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    const Program program = random_program(seed, true);
    const RunOptions options = random_options(seed);
    ASSERT_EQ(json_of(program, options), json_of(program, options)) << seed;
  }
}

// One thread, no prefetching, more data than memory: every fault, copy and eviction is on the only path through the
// program, so a higher cost never makes the program faster. (With many lanes a later fetch may find a fuller batch, and
// the program ends earlier.)
Program fault_bound() {
  Program program;
  const auto data = program.alloc(4 * kBlockBytes);
  program.host(data, 0, 64, trace::AccessMode::kWrite);
  for (int pass = 0; pass < 2; ++pass) {
    for (std::uint64_t block = 0; block < 4; ++block) {
      program.walk("w", data, block * kPagesPerBlock, 12, trace::AccessMode::kReadWrite);
      program.sync();
    }
  }
  program.host(data, 0, 8, trace::AccessMode::kRead);
  program.free(data);
  return program;
}

void expect_monotone(const std::string& prefix) {
  const Program program = fault_bound();
  RunOptions options = options_with(2);
  options.prefetch.name = "none";
  const Nanoseconds before = program.run(options).total;
  const std::size_t count = config::parameters(options.system).size();
  for (std::size_t i = 0; i < count; ++i) {
    RunOptions raised = options;
    const config::Parameter parameter = config::parameters(raised.system)[i];
    if (!parameter.key.starts_with(prefix) || !parameter.key.ends_with("_ns")) continue;
    // If a thread counts as asleep only after a longer time, this is a benefit, not a cost.
    if (parameter.key == "costs.sleep_after_ns") continue;
    std::uint64_t& value = *std::get<std::uint64_t*>(parameter.target);
    value += value / 2 + 1000;
    EXPECT_GE(program.run(raised).total, before) << parameter.key;
  }
}

TEST(Properties, NoCostOfTheDriverMakesAFaultBoundProgramFaster) { expect_monotone("costs."); }
TEST(Properties, NoCostOfTheRuntimeMakesAFaultBoundProgramFaster) { expect_monotone("runtime."); }

TEST(Properties, TheCostsThatAFaultMeetsAreOnItsWay) {
  const Program program = fault_bound();
  RunOptions options = options_with(2);
  options.prefetch.name = "none";
  const RunResult before = program.run(options);
  const auto extra = [&](std::uint64_t config::DriverCosts::*member) {
    RunOptions raised = options;
    raised.system.costs.*member += 1000;
    return static_cast<std::uint64_t>((program.run(raised).total - before.total).value);
  };
  const Counters& c = before.counters;
  EXPECT_EQ(extra(&config::DriverCosts::replay_ns), 1000 * c.replays);
  EXPECT_EQ(extra(&config::DriverCosts::batch_ns), 1000 * c.fault_batches);
  EXPECT_EQ(extra(&config::DriverCosts::evict_chunk_ns), 1000 * c.evictions);
  // The host's last reads fault on pages that were evicted to it: such a fault maps, and moves nothing.
  constexpr std::uint64_t kRemapped = 8;
  EXPECT_EQ(extra(&config::DriverCosts::cpu_remap_ns), 1000 * kRemapped);
  EXPECT_EQ(extra(&config::DriverCosts::cpu_fault_ns), 1000 * (c.cpu_faults - kRemapped));
}

TEST(Properties, ASlowerLinkIsSlower) {
  const Program program = fault_bound();
  RunOptions options = options_with(2);
  Nanoseconds before{};
  for (const std::uint64_t bandwidth : {50000u, 20000u, 10000u, 3000u, 500u}) {
    options.system.host_links[0].host_to_device.bytes_per_us = bandwidth;
    options.system.host_links[0].device_to_host.bytes_per_us = bandwidth;
    const Nanoseconds total = program.run(options).total;
    EXPECT_GT(total, before) << bandwidth;
    before = total;
  }
}

}  // namespace
}  // namespace uvmsim
