// SPDX-License-Identifier: Apache-2.0
// Memory of malloc and coherent links: where pages are, what moves them, and what accesses in place cost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/common/error.h"
#include "sim/config/coherence.h"
#include "tests/engine/program.h"
#include "tests/policy/message_of.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;
using trace::AccessMode;
using trace::ObjectKind;

constexpr std::uint64_t kBytes = 16 * kMiB;

// GPU and host reach each other at 100 GB/s; a notification is served after 10 us.
config::SystemConfig coherent_system() {
  config::SystemConfig system = plain_system();
  for (config::LinkConfig& link : system.host_links) {
    link.kind = "c2c";
    link.zero_copy_read_bytes_per_us = link.zero_copy_write_bytes_per_us = 100000;
  }
  system.driver.version_major = 570;
  system.runtime.remote_latency_ns = 900;
  config::CoherenceConfig& coherence = system.coherence;
  coherence.address_mode = "ats";
  coherence.host_page_bytes = kBigPageBytes;
  coherence.local_latency_ns = 400;
  coherence.store_latency_ns = 800;
  coherence.first_touch_ns = 20000;
  coherence.first_touch_page_ns = 5000;
  coherence.host_touch_ns = 15000;
  coherence.host_touch_page_ns = 3000;
  coherence.notification_delay_ns = 10000;
  coherence.notification_ns = 20000;
  coherence.moved_page_ns = 4000;
  coherence.moved_used_page_ns = 8000;
  coherence.cpu_first_touch_page_ns = 2000;
  coherence.cpu_read_gpu_page_ns = 700;
  coherence.cpu_write_gpu_page_ns = 400;
  return system;
}

struct Coherent : ::testing::Test {
  RunOptions options = [] {
    RunOptions of = options_with(0);
    of.system = coherent_system();
    return of;
  }();
  Program program;

  trace::ObjectId alloc(ObjectKind kind, std::uint64_t bytes = kBytes) {
    const trace::ObjectId id = program.alloc(bytes);
    std::get<trace::ObjectAlloc>(const_cast<trace::Record&>(program.records().back())).kind = kind;
    return id;
  }
  // Warps run one after the other, so slowly that the driver's thread keeps up.
  void pass(trace::ObjectId id, AccessMode mode = AccessMode::kRead, std::int64_t duration_ns = 2000000) {
    const bool reads = mode == AccessMode::kRead;
    trace::Kernel& kernel =
        program.kernel("pass", duration_ns, reads ? std::vector{id} : std::vector<trace::ObjectId>{},
                       reads ? std::vector<trace::ObjectId>{} : std::vector{id});
    kernel.block = {1024, 1, 1};
    kernel.bytes_per_thread_access = 8;
    program.sync();
  }
  Counters run() const { return program.run(options).counters; }
};

std::uint64_t moved(const Counters& counters) { return counters.htod_counter_bytes; }

TEST_F(Coherent, TheGpuPopulatesWhatNobodyTouchedAndTheCpuPullsNothingBack) {
  const trace::ObjectId id = alloc(ObjectKind::kSystem);
  pass(id, AccessMode::kWrite);
  program.host(id, AccessMode::kWrite);
  program.host(id, AccessMode::kRead);
  pass(id);
  const Counters counters = run();
  EXPECT_EQ(counters.populated_pages, kBytes / kPage);
  EXPECT_EQ(bytes_in(counters) + bytes_out(counters), 0u);
  EXPECT_EQ(counters.cpu_faults, 0u);
  EXPECT_EQ(counters.remote_access_bytes, 0u);  // of the GPU
}

TEST_F(Coherent, AFaultMovesNothingThatTheHostTouched) {
  options.system.coherence.host_page_bytes = kBasePageBytes;  // the driver drops the notifications of counters
  const trace::ObjectId id = alloc(ObjectKind::kSystem);
  program.host(id);
  pass(id);
  pass(id, AccessMode::kWrite);
  const Counters counters = run();
  EXPECT_EQ(counters.raw_faults, 0u);
  EXPECT_EQ(counters.populated_pages, 0u);
  EXPECT_EQ(bytes_in(counters), 0u);
  EXPECT_EQ(counters.remote_access_bytes, 2 * kBytes);
}

TEST_F(Coherent, AWriteToPagesThatTheCpuOnlyReadPopulatesOnTheHost) {
  options.system.coherence.host_page_bytes = kBasePageBytes;
  const trace::ObjectId id = alloc(ObjectKind::kSystem);
  program.host(id, AccessMode::kRead);
  pass(id);
  pass(id, AccessMode::kWrite);
  pass(id);
  const Counters counters = run();
  EXPECT_GT(counters.raw_faults, 0u);
  EXPECT_EQ(counters.populated_pages, 0u);
  EXPECT_EQ(counters.remote_access_bytes, 3 * kBytes);
}

TEST_F(Coherent, CountersBringWhatIsUsedWhileKernelsRun) {
  const trace::ObjectId id = alloc(ObjectKind::kSystem);
  program.host(id);
  for (int i = 0; i < 4; ++i) pass(id);
  const Counters counters = run();
  EXPECT_EQ(moved(counters), kBytes);  // all of it, each page once
  EXPECT_LT(counters.remote_access_bytes, 2 * kBytes);
  EXPECT_GT(counters.access_counter_notifications, 0u);
}

TEST_F(Coherent, AFullGpuEvictsNoSystemMemory) {
  options = options_with(4);
  options.system = coherent_system();
  const trace::ObjectId id = alloc(ObjectKind::kSystem);  // 8 chunks
  for (int i = 0; i < 3; ++i) pass(id, AccessMode::kWrite);
  const Counters counters = run();
  EXPECT_EQ(counters.populated_pages, 4 * kPagesPerBlock);
  EXPECT_EQ(counters.evictions, 0u);
  EXPECT_EQ(moved(counters), 0u);
  EXPECT_GE(counters.remote_access_bytes, kBytes);  // half of it, after the first pass
}

TEST_F(Coherent, ManagedMemoryOnAGpuFullOfSystemMemoryIsToldSo) {
  options.limited = true;
  options.capacity_bytes = 4 * kBlockBytes;
  pass(alloc(ObjectKind::kSystem, 4 * kBlockBytes), AccessMode::kWrite);
  pass(alloc(ObjectKind::kManaged, kBlockBytes), AccessMode::kWrite);
  EXPECT_THAT(message_of([&] { run(); }), HasSubstr("4 as memory of malloc"));
}

TEST_F(Coherent, PinnedMemoryStays) {
  const trace::ObjectId id = alloc(ObjectKind::kPinned);
  for (int i = 0; i < 3; ++i) pass(id);
  const Counters counters = run();
  EXPECT_EQ(counters.raw_faults + bytes_in(counters), 0u);
  EXPECT_EQ(counters.remote_access_bytes, 3 * kBytes);
  EXPECT_EQ(counters.access_counter_notifications, 0u);
}

// The time is the larger of two: that of the bytes over the link, and the additional time that its warps wait compared
// with the GPU's own memory.
TEST_F(Coherent, ARooflineOverTheLink) {
  const trace::ObjectId id = alloc(ObjectKind::kPinned);
  constexpr std::int64_t own_ns = 1000;
  const auto kernel_ns = [&](std::uint32_t blocks, AccessMode mode) {
    Program alone = program;
    trace::Kernel& kernel = alone.kernel("pass", own_ns, {}, {});
    kernel.accesses = {{id, {{0, kBytes / kPage, mode}}}};
    kernel.grid = {blocks, 1, 1};
    kernel.block = {1024, 1, 1};
    kernel.bytes_per_thread_access = 8;
    return alone.run(options).counters.kernel_ns;
  };
  const std::uint64_t link_ns = kBytes / 100;                   // 100,000 bytes per us
  const std::uint64_t reads_ns = kBytes / 8192 * 500 + own_ns;  // 900 ns less 400 for 8 KB at a time
  const std::uint64_t writes_ns = kBytes / 8192 * 800 + own_ns;
  EXPECT_NEAR(static_cast<double>(kernel_ns(1, AccessMode::kRead)), static_cast<double>(reads_ns), 1.0);
  EXPECT_NEAR(static_cast<double>(kernel_ns(1, AccessMode::kWrite)), static_cast<double>(writes_ns), 1.0);
  EXPECT_NEAR(static_cast<double>(kernel_ns(8, AccessMode::kRead)), static_cast<double>(link_ns), 1.0);
}

TEST_F(Coherent, EvictedManagedMemoryStaysMappedAndComesByCounters) {
  options = options_with(4);
  options.system = coherent_system();
  const trace::ObjectId id = alloc(ObjectKind::kManaged);  // 8 chunks
  program.host(id);
  pass(id);
  options.system.coherence.host_page_bytes = kBasePageBytes;
  const Counters once = run();
  EXPECT_EQ(once.remote_access_bytes, 0u);  // pages that the pass evicts have been used already
  for (int i = 0; i < 3; ++i) pass(id);
  const Counters kept = run();
  EXPECT_EQ(kept.htod_fault_bytes + kept.htod_prefetch_bytes, once.htod_fault_bytes + once.htod_prefetch_bytes);
  EXPECT_EQ(moved(kept), 0u);
  EXPECT_GE(kept.remote_access_bytes, 3 * kBytes / 2);
  options.system.coherence.host_page_bytes = kBigPageBytes;
  EXPECT_GT(moved(run()), 0u);
}

// Versions, pages and modes in which counters move nothing.
TEST(CoherentVersions, SayWhatCountersMove) {
  struct Case {
    std::string kind, mode;
    std::uint32_t major, minor, patch;
    std::uint64_t page;
    bool system, managed;
  };
  const std::vector<Case> cases = {
      {"c2c", "ats", 535, 129, 3, kBigPageBytes, false, false},
      {"c2c", "ats", 535, 171, 4, kBigPageBytes, true, true},
      {"c2c", "ats", 550, 40, 7, kBigPageBytes, false, false},
      {"c2c", "ats", 550, 40, 53, kBigPageBytes, true, true},
      {"c2c", "ats", 570, 0, 0, kBigPageBytes, true, true},
      {"c2c", "ats", 570, 0, 0, kBasePageBytes, false, false},
      {"c2c", "cdmm", 580, 65, 6, kBigPageBytes, false, false},
      {"nvlink", "ats", 418, 67, 0, kBigPageBytes, false, true},
  };
  for (const Case& expected : cases) {
    config::SystemConfig system = coherent_system();
    for (config::LinkConfig& link : system.host_links) link.kind = expected.kind;
    system.coherence.address_mode = expected.mode;
    system.coherence.host_page_bytes = expected.page;
    system.driver.version_major = expected.major;
    system.driver.version_minor = expected.minor;
    system.driver.version_patch = expected.patch;
    SCOPED_TRACE(expected.kind + " " + expected.mode + " " + std::to_string(expected.major));
    EXPECT_EQ(config::counters_move_system(system), expected.system);
    EXPECT_EQ(config::counters_move_managed(system), expected.managed);
  }
}

TEST_F(Coherent, UnderCdmmTheGpuPopulatesOnTheHost) {
  options.system.coherence.address_mode = "cdmm";
  const trace::ObjectId id = alloc(ObjectKind::kSystem);
  for (int i = 0; i < 3; ++i) pass(id, AccessMode::kWrite);
  const Counters counters = run();
  EXPECT_EQ(counters.populated_pages + moved(counters), 0u);
  EXPECT_EQ(counters.remote_access_bytes, 3 * kBytes);
}

TEST_F(Coherent, UnderHmmSystemMemoryMigratesOnFaults) {
  options = options_with(0);
  options.system.coherence.address_mode = "hmm";
  const trace::ObjectId id = alloc(ObjectKind::kSystem);
  program.host(id);
  pass(id);
  const RunResult free = program.run(options);
  EXPECT_EQ(bytes_in(free.counters), kBytes);
  options.system.coherence.hmm_page_ns = 1000;
  const RunResult paid = program.run(options);
  EXPECT_GE(paid.total, free.total + Nanoseconds(static_cast<std::int64_t>(kBytes / kPage) * 900));
}

TEST_F(Coherent, MoveOnUseBringsWholeBlocks) {
  options.migrate.name = "move_on_use";
  const trace::ObjectId id = alloc(ObjectKind::kSystem);
  program.host(id);
  pass(id);
  pass(id);
  const Counters counters = run();
  EXPECT_EQ(moved(counters), kBytes);
  EXPECT_LT(counters.htod_counter_transactions, kBytes / kBigPageBytes);
}

TEST_F(Coherent, WhatAMachineCannotHaveIsRefused) {
  const auto problem = [&] {
    try {
      run();
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const trace::ObjectId id = alloc(ObjectKind::kSystem);
  program.prefetch(id, 0);
  EXPECT_THAT(problem(), HasSubstr("prefetch of object 1, which is system memory; allowed: managed memory"));
  options = options_with(0);
  EXPECT_THAT(problem(), HasSubstr("object 1 is system memory (malloc), which no GPU of"));
}

// Every key of the group changes the time or a counter of this program.
TEST_F(Coherent, NoKeyDoesNothing) {
  const trace::ObjectId fresh = alloc(ObjectKind::kSystem), loaded = alloc(ObjectKind::kSystem),
                        stored = alloc(ObjectKind::kSystem), zeros = alloc(ObjectKind::kSystem);
  program.host(loaded);
  program.host(stored);
  program.host(zeros, AccessMode::kRead);
  for (int i = 0; i < 2; ++i) {
    pass(fresh, AccessMode::kWrite);
    pass(loaded);
    pass(stored, AccessMode::kWrite);
    pass(zeros, AccessMode::kWrite);
  }
  program.host(fresh, AccessMode::kRead);
  program.host(fresh);
  const auto state = [&](const config::SystemConfig& system) {
    RunOptions changed = options;
    changed.system = system;
    const RunResult result = program.run(changed);
    return std::vector<std::uint64_t>{static_cast<std::uint64_t>(result.total.value), result.counters.kernel_ns,
                                      result.counters.remote_access_bytes, moved(result.counters)};
  };
  const auto as_it_is = state(options.system);
  using Key = std::uint64_t config::CoherenceConfig::*;
  for (const Key key :
       {&config::CoherenceConfig::local_latency_ns, &config::CoherenceConfig::store_latency_ns,
        &config::CoherenceConfig::first_touch_ns, &config::CoherenceConfig::first_touch_page_ns,
        &config::CoherenceConfig::host_touch_ns, &config::CoherenceConfig::host_touch_page_ns,
        &config::CoherenceConfig::counted_read_bytes, &config::CoherenceConfig::counted_write_bytes,
        &config::CoherenceConfig::notification_delay_ns, &config::CoherenceConfig::notification_ns,
        &config::CoherenceConfig::moved_page_ns, &config::CoherenceConfig::moved_used_page_ns,
        &config::CoherenceConfig::cpu_first_touch_page_ns, &config::CoherenceConfig::cpu_read_gpu_page_ns,
        &config::CoherenceConfig::cpu_write_gpu_page_ns}) {
    config::SystemConfig system = options.system;
    const bool is_counted =
        key == &config::CoherenceConfig::counted_read_bytes || key == &config::CoherenceConfig::counted_write_bytes;
    system.coherence.*key = is_counted ? kPage : system.coherence.*key * 3 / 2 + 1;
    EXPECT_NE(state(system), as_it_is) << "from " << system.coherence.*key;
  }
}

}  // namespace
}  // namespace uvmsim
