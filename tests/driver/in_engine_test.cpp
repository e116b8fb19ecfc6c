// SPDX-License-Identifier: Apache-2.0
// Tests of engine and driver together, by short programs: throttled CPU threads, pins that expire, access counters
// between kernels.
#include <gtest/gtest.h>

#include "sim/engine/simulation.h"
#include "tests/driver/driver_harness.h"

namespace uvmsim::driver {
namespace {

constexpr std::uint32_t kQuantum = 512;
constexpr std::uint64_t kQuantaPerPage = kBasePageBytes / kQuantum;

struct ProgramOf {
  std::vector<trace::Record> records;

  void allocate(trace::ObjectId id, std::uint64_t bytes) {
    trace::ObjectAlloc alloc;
    alloc.id = id;
    alloc.kind = trace::ObjectKind::kManaged;
    alloc.bytes = bytes;
    records.emplace_back(alloc);
  }
  void free(trace::ObjectId id) {
    trace::ObjectFree record;
    record.id = id;
    records.emplace_back(record);
  }
  void kernel(trace::ObjectId id, std::uint64_t page_count, trace::AccessMode mode, std::int64_t gap_ns = 0) {
    trace::Kernel kernel;
    kernel.name = "kernel";
    kernel.grid = {4, 1, 1};
    kernel.block = {256, 1, 1};
    kernel.duration_ns = 10000;
    kernel.host_gap_ns = gap_ns;
    kernel.accesses.push_back({id, {{0, page_count * kQuantaPerPage, mode}}});
    records.emplace_back(std::move(kernel));
  }
  void synchronize() { records.emplace_back(trace::Sync{}); }
  void host_access(trace::ObjectId id, std::uint64_t page_count, trace::AccessMode mode) {
    trace::HostAccess access;
    access.object = id;
    access.extents.push_back({0, page_count * kQuantaPerPage, mode});
    records.emplace_back(std::move(access));
  }
  void advise(trace::ObjectId id, std::uint64_t bytes, trace::Advice advice) {
    trace::Advise record;
    record.object = id;
    record.bytes = bytes;
    record.advice = advice;
    record.device = 0;
    records.emplace_back(record);
  }

  RunResult run(const config::SystemConfig& system, EventSink* events = nullptr) const {
    trace::Header header;
    header.quantum_bytes = kQuantum;
    RunOptions options;
    options.system = system;
    options.limited = false;
    RunObserver observer;
    observer.events = events;
    std::size_t next = 0;
    const RecordSource source = [&](trace::Record& record) {
      if (next == records.size()) return false;
      record = records[next++];
      return true;
    };
    return simulate(header, source, options, observer);
  }
};

// Returns a program whose GPU and CPU repeatedly write the same page, as fast as they can.
ProgramOf quarrel(int rounds) {
  ProgramOf program;
  program.allocate(1, kBlockBytes);
  for (int i = 0; i < rounds; ++i) {
    program.kernel(1, 1, trace::AccessMode::kWrite);
    program.synchronize();
    program.host_access(1, 1, trace::AccessMode::kWrite);
  }
  return program;
}

TEST(DriverInEngine, AQuarrelEndsWithAPin) {
  const RunResult result = quarrel(200).run(tiny_system());
  EXPECT_EQ(result.counters.kernels, 200u);
  EXPECT_GE(result.counters.throttles, 10u);
  EXPECT_GE(result.counters.pins, 1u);
  EXPECT_GT(result.counters.remote_access_bytes, 0u);
  // A pinned page does not fault any more; without thrashing control each of 200 rounds moves the page twice.
  EXPECT_LT(result.counters.cpu_faults, 100u);
}

TEST(DriverInEngine, AQuarrelWithoutControlMovesThePageInEveryRound) {
  config::SystemConfig system = tiny_system();
  system.driver.thrashing_enable = false;
  const RunResult result = quarrel(200).run(system);
  EXPECT_EQ(result.counters.cpu_faults, 200u);
  EXPECT_EQ(result.counters.fault_batches, 200u);
}

TEST(DriverInEngine, PinsRunOutBetweenKernels) {
  ProgramOf program = quarrel(200);
  const RunResult before = program.run(tiny_system());
  program.kernel(1, 1, trace::AccessMode::kWrite, 200000000);  // 200 ms later
  program.synchronize();
  const RunResult after = program.run(tiny_system());
  EXPECT_EQ(after.counters.fault_batches, before.counters.fault_batches + 1) << "the mapping is gone, the page moves";
  EXPECT_EQ(after.counters.remote_access_bytes, before.counters.remote_access_bytes);
}

TEST(DriverInEngine, AccessCountersBringRemoteDataOver) {
  constexpr std::uint64_t kBlocks = 4;
  ProgramOf program;
  program.allocate(1, kBlocks * kBlockBytes);
  program.host_access(1, kBlocks * kPagesPerBlock, trace::AccessMode::kWrite);
  program.advise(1, kBlocks * kBlockBytes, trace::Advice::kSetAccessedBy);
  for (int i = 0; i < 3; ++i) program.kernel(1, kBlocks * kPagesPerBlock, trace::AccessMode::kRead);
  program.synchronize();

  const RunResult remote = program.run(tiny_system());
  EXPECT_EQ(remote.counters.remote_access_bytes, 3 * kBlocks * kBlockBytes);
  EXPECT_EQ(remote.counters.htod_counter_bytes, 0u);

  config::SystemConfig system = tiny_system();
  system.driver.access_counter_migration = true;
  const RunResult counted = program.run(system);
  EXPECT_EQ(counted.counters.access_counter_notifications, kBlocks);
  EXPECT_EQ(counted.counters.htod_counter_bytes, kBlocks * kBlockBytes);
  EXPECT_EQ(counted.counters.remote_access_bytes, kBlocks * kBlockBytes) << "only the first kernel reads over the link";
  EXPECT_EQ(counted.counters.fault_batches, 0u);
}

// Runs one thread that faults once per 64 KB of data on the host, which is then mapped remotely: one batch per fault.
RunResult remote_walk(std::uint64_t faults, bool read_mostly, const config::SystemConfig& system) {
  ProgramOf program;
  const std::uint64_t bytes = faults * kBigPageBytes;
  program.allocate(1, bytes);
  if (!read_mostly) program.host_access(1, bytes / kBasePageBytes, trace::AccessMode::kWrite);
  trace::Advise advise;
  advise.object = 1;
  advise.bytes = bytes;
  advise.advice = read_mostly ? trace::Advice::kSetReadMostly : trace::Advice::kSetPreferredLocation;
  advise.device = -1;
  program.records.emplace_back(advise);
  trace::Kernel kernel;
  kernel.name = "walk";
  kernel.accesses.push_back({1, {{0, bytes / kQuantum, trace::AccessMode::kReadWrite}}});
  const trace::AccessMode mode = read_mostly ? trace::AccessMode::kWrite : trace::AccessMode::kRead;
  for (std::uint64_t i = 0; i < faults; ++i) kernel.touches.push_back({0, i * kBigPageBytes / kQuantum, mode});
  program.records.emplace_back(kernel);
  program.synchronize();
  return program.run(system);
}

TEST(DriverInEngine, FaultsThatAnswerAReplayOfMappingsOnlyAreNeverLate) {
  config::SystemConfig system = tiny_system();
  system.costs.replay_lead_ns = 1000;
  const RunResult punctual = remote_walk(64, false, system);
  ASSERT_EQ(punctual.counters.fault_batches, 64u);
  EXPECT_EQ(punctual.counters.wakeups, 4u) << "a new service after 20, 40 and 60 batches";
  // Without the lead, the fault after the 20th batch arrives after the driver has read the buffer for the last time.
  system.costs.replay_lead_ns = 0;
  const RunResult late = remote_walk(64, false, system);
  const auto extra = static_cast<std::int64_t>(system.costs.late_interrupt_ns);
  EXPECT_GE(late.counters.kernel_ns, punctual.counters.kernel_ns + static_cast<std::uint64_t>(3 * extra));
}

TEST(DriverInEngine, WritesToReadDuplicatedPagesPayForNewRights) {
  config::SystemConfig system = tiny_system();
  const RunResult before = remote_walk(64, true, system);
  system.costs.protect_block_ns += 1000;
  const RunResult after = remote_walk(64, true, system);
  ASSERT_EQ(before.counters.fault_batches, 64u);
  ASSERT_EQ(after.counters.fault_batches, 64u);
  // The tree fetches the blocks in 12 steps, which map fresh pages; every other write requests a new permission. Each
  // write except the first of either block also revokes the permission of the page that was written before.
  EXPECT_EQ(after.counters.fault_service_ns - before.counters.fault_service_ns, 1000 * (52u + 62u));
}

TEST(DriverInEngine, AFreedBlockLeavesNothingToItsSuccessor) {
  ProgramOf program = quarrel(200);
  program.free(1);
  program.allocate(2, kBlockBytes);
  program.kernel(2, 1, trace::AccessMode::kWrite);
  program.synchronize();
  const RunResult before = quarrel(200).run(tiny_system());
  const RunResult after = program.run(tiny_system());
  EXPECT_EQ(after.counters.fault_batches, before.counters.fault_batches + 1);
  EXPECT_EQ(after.counters.throttles, before.counters.throttles);
  EXPECT_EQ(after.counters.populated_pages, before.counters.populated_pages + 16);
}

// First writes to 64 MiB, new or read before, fault once per page of the driver, not per 4 KB.
TEST(DriverInEngine, FirstWritesUnderReplicationFaultOncePerPage) {
  constexpr std::uint64_t kBytes = std::uint64_t{64} << 20;
  const auto batches = [&](bool replicate, bool read_before) {
    config::SystemConfig system = tiny_system();
    system.driver.page_bytes = kBlockBytes;
    system.driver.thrashing_enable = false;
    system.driver.replicate = replicate;
    ProgramOf program;
    program.allocate(1, kBytes);
    if (read_before) program.kernel(1, kBytes / kBasePageBytes, trace::AccessMode::kRead);
    program.kernel(1, kBytes / kBasePageBytes, trace::AccessMode::kWrite);
    return program.run(system).counters;
  };
  const Counters moved = batches(false, false), replicated = batches(true, false), read_before = batches(true, true);
  EXPECT_EQ(replicated.fault_batches, moved.fault_batches);
  EXPECT_EQ(replicated.faulting_pages, moved.faulting_pages);
  EXPECT_LE(replicated.fault_batches, kBytes / kBlockBytes + 4);
  EXPECT_EQ(read_before.fault_batches, 2 * moved.fault_batches) << "once to read, once to write";
}

}  // namespace
}  // namespace uvmsim::driver
