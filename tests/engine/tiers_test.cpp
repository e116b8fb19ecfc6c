// SPDX-License-Identifier: Apache-2.0
// Whole programs on GPU, host and SSD: a host that is large enough changes nothing, every policy runs on three tiers,
// no bound is beaten, and counters agree with events.
#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "sim/report/result_json.h"
#include "tests/bounds/never_beaten.h"
#include "tests/bounds/random_program.h"

namespace uvmsim {
namespace {

void limit_host(config::SystemConfig& system, std::uint64_t host_blocks, std::uint64_t reclaim_bytes = kBlockBytes) {
  system.host.memory_bytes = host_blocks * kBlockBytes;
  system.host.reclaim_bytes = reclaim_bytes;
  system.ssd = {std::uint64_t{1} << 34, 3200, 3200, 12000, 16000, 8};
}

Program program_of(std::uint64_t seed) {
  Random random(seed);
  RandomProgramOptions options;
  options.streams = seed % 3 == 0;
  options.advice = seed % 2 == 0;
  options.largest_object_pages = 512u << random.below(2);
  options.records = 25;
  return random_program(random, options);
}

RunOptions options_of(std::uint64_t seed) {
  RunOptions options = options_with(1 + seed % 6);
  options.system.driver.access_counter_migration = seed % 5 == 0;
  options.system.host.large_pages = seed % 4 != 0;
  options.seed = seed;
  return options;
}

std::vector<std::uint64_t> numbers_of(const RunResult& result) {
  std::vector<std::uint64_t> numbers = {static_cast<std::uint64_t>(result.total.value)};
  for_each_counter(result.counters, [&](const char*, std::uint64_t value) { numbers.push_back(value); });
  return numbers;
}

// Programs in which a stream waits for an event that it records later itself are refused.
template <class F>
void for_programs(std::uint64_t count, F&& f) {
  std::uint64_t ran = 0;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    SCOPED_TRACE(seed);
    try {
      f(program_of(seed), seed);
      ++ran;
    } catch (const InputError&) {
    }
  }
  EXPECT_GT(ran, count / 2);
}

TEST(Tiers, AHostThatHoldsEverythingChangesNothing) {
  for_programs(16, [](const Program& program, std::uint64_t seed) {
    const RunOptions two = options_of(seed);
    RunOptions three = two;
    limit_host(three.system, 4096);
    EXPECT_EQ(numbers_of(program.run(three)), numbers_of(program.run(two)));
    three.system.ssd = {};  // the missing SSD is not needed either
    EXPECT_EQ(numbers_of(program.run(three)), numbers_of(program.run(two)));
  });
}

struct Storage final : EventSink {
  void on(const StorageEvent& event) override {
    EXPECT_LT(event.start, event.end);
    (event.write ? written : read) += event.bytes;
    ++(event.write ? writes : reads);
  }
  std::uint64_t written = 0, read = 0, writes = 0, reads = 0;
};

TEST(Tiers, CountersAgreeWithEventsAndPages) {
  std::uint64_t cascaded = 0;
  for_programs(16, [&](const Program& program, std::uint64_t seed) {
    RunOptions options = options_of(seed);
    const std::uint64_t units[] = {kBasePageBytes, kBigPageBytes, kBlockBytes};
    limit_host(options.system, 1 + seed % 3, units[seed % 3]);
    Storage seen;
    const Counters c = program.run(options, &seen).counters;
    EXPECT_EQ(c.ssd_read_bytes, seen.read);
    EXPECT_EQ(c.ssd_reads, seen.reads);
    EXPECT_EQ(c.ssd_write_bytes, seen.written);
    EXPECT_EQ(c.ssd_writes, seen.writes);
    EXPECT_EQ(c.host_reclaimed_pages, c.ssd_write_bytes / kPage + c.host_clean_pages);
    EXPECT_LE(c.ssd_read_bytes / kPage, c.host_reclaimed_pages) << "what is read was pushed out before";
    cascaded += c.ssd_read_bytes != 0 ? 1 : 0;
    EXPECT_EQ(numbers_of(program.run(options)), numbers_of(program.run(options)));
  });
  EXPECT_GT(cascaded, 5u);
}

TEST(Tiers, EveryPolicyRunsAndNoBoundIsBeaten) {
  Closest closest;
  for_programs(3, [&](const Program& program, std::uint64_t seed) {
    RunOptions options = options_of(seed);
    limit_host(options.system, 1 + seed % 3, seed % 2 == 0 ? kBlockBytes : kBigPageBytes);
    expect_never_beaten(
        Program::header(), [&] { return program.source(); }, options, closest, Policies::kSome);
  });
}

TEST(Tiers, WithoutAnSsdAFullHostIsAnError) {
  Program program;
  const auto data = program.alloc(4 * kBlockBytes);
  program.host(data);
  RunOptions options = options_with(2);
  options.system.host.memory_bytes = 3 * kBlockBytes;
  try {
    program.run(options);
    FAIL() << "runs";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "record 2: host memory is full: host.memory_bytes = 6291456 of system 'plain' holds less than the "
                 "program needs");
  }
}

// A scan over three tiers: data that do not fit into the GPU go to the host, and from there to the SSD, and the next
// scan reads them back. Of 6 blocks 1 stays on the GPU and 2 on the host.
TEST(Tiers, AScanCascades) {
  Program program;
  const auto data = program.alloc(6 * kBlockBytes);
  for (int i = 0; i < 3; ++i) program.walk("scan", data, 0, program.pages(data), trace::AccessMode::kWrite);
  RunOptions options = options_with(1);
  limit_host(options.system, 2);
  options.system.host.watermark_scale_factor = 0;
  const Counters c = program.run(options).counters;
  EXPECT_GE(c.ssd_write_bytes, (3 + 6 + 6) * kBlockBytes - 4 * kBlockBytes);
  EXPECT_GE(c.ssd_read_bytes, 10 * kBlockBytes);
  EXPECT_EQ(bytes_in(c), 12 * kBlockBytes);
}

// A recurring iteration is skipped exactly, including the places of data on three tiers.
TEST(Tiers, RecurrenceIsExact) {
  Program program;
  const auto data = program.alloc(6 * kBlockBytes);
  for (std::uint64_t index = 0; index < 3; ++index) {
    program.add(trace::Range{trace::RangeKind::kIterationBegin, "", index});
    program.kernel("k", 100000, {}, {data});
    program.sync();
    program.add(trace::Range{trace::RangeKind::kIterationEnd, "", index});
  }
  RunOptions options = options_with(2);
  limit_host(options.system, 2, kBigPageBytes);
  options.iterations = 40;
  Storage watched;  // a sink for events receives those of every iteration
  EXPECT_EQ(numbers_of(program.run(options)), numbers_of(program.run(options, &watched)));
  EXPECT_GT(watched.reads, 40u);
}

}  // namespace
}  // namespace uvmsim
