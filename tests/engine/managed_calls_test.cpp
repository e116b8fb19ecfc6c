// SPDX-License-Identifier: Apache-2.0
// Calls on managed memory: copies, fills, prefetches, advice, touches by the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/program.h"
#include "tests/policy/message_of.h"

namespace uvmsim {
namespace {

using ::testing::HasSubstr;
using trace::AccessMode;
using trace::Advice;

trace::Memcpy copy(trace::CopyKind kind, trace::CopyEnd to, trace::CopyEnd from, std::uint64_t bytes) {
  trace::Memcpy record;
  record.kind = kind;
  record.dst = to;
  record.src = from;
  record.bytes = bytes;
  return record;
}

TEST(ManagedCalls, ACpuWriteOfFreshMemoryMovesNothing) {
  Program program;
  const auto data = program.alloc(2 * kBlockBytes);
  program.host(data);
  const RunResult result = program.run(options_with(0));
  EXPECT_GT(result.counters.cpu_faults, 0u);
  EXPECT_LE(result.counters.cpu_faults, program.pages(data));
  EXPECT_EQ(bytes_in(result.counters) + bytes_out(result.counters), 0u);
}

TEST(ManagedCalls, TheCpuTakesBackWhatTheGpuWrote) {
  Program program;
  const auto data = program.alloc(2 * kBlockBytes);
  program.kernel("write", 1000, {}, {data});
  program.sync();
  program.host(data, AccessMode::kRead);
  program.kernel("read", 1000, {data});
  program.sync();
  const Counters c = program.run(options_with(0)).counters;
  EXPECT_EQ(c.populated_pages, 1024u);
  EXPECT_EQ(c.dtoh_fault_bytes + c.dtoh_prefetch_bytes, 2 * kBlockBytes);
  EXPECT_EQ(bytes_in(c), 2 * kBlockBytes);
  EXPECT_EQ(c.dtoh_evict_bytes, 0u);
}

TEST(ManagedCalls, ACpuTouchOfOnePageMovesAFewOnly) {
  Program program;
  const auto data = program.alloc(kBlockBytes);
  program.kernel("write", 1000, {}, {data});
  program.sync();
  program.host(data, 40, 1, AccessMode::kRead);
  RunOptions options = options_with(0);
  options.prefetch.name = "none";
  Watched watched;
  const Counters c = program.run(options, &watched).counters;
  EXPECT_EQ(c.cpu_faults, 1u);
  EXPECT_EQ(c.dtoh_fault_bytes, kPage);
  ASSERT_EQ(watched.transfers.size(), 1u);
  EXPECT_EQ(watched.transfers[0].address, 40 * kPage);
  EXPECT_EQ(watched.resident_bytes, kBlockBytes - kPage);
}

TEST(ManagedCalls, PrefetchedMemoryDoesNotFault) {
  Program program;
  const auto data = program.alloc(3 * kBlockBytes + 5 * kPage);
  program.host(data);
  program.prefetch(data, 0);
  program.kernel("use", 50000, {data}, {data});
  program.sync();
  Watched watched;
  const Counters c = program.run(options_with(0), &watched).counters;
  EXPECT_EQ(c.htod_user_bytes, 3 * kBlockBytes + 5 * kPage);
  EXPECT_EQ(c.htod_user_transactions, 4u);  // one per block
  EXPECT_EQ(bytes_in(c), c.htod_user_bytes);
  EXPECT_EQ(c.raw_faults, 0u);
  // The tail is mapped with small pages, which its recorded duration does not contain.
  EXPECT_EQ((watched.kernel("use").end - watched.kernel("use").start).value,
            50000 + static_cast<std::int64_t>(c.gmmu.stall_ns));
  EXPECT_LT(c.gmmu.stall_ns, 1000u);
}

TEST(ManagedCalls, PrefetchToTheHostBringsEverythingBack) {
  Program program;
  const auto data = program.alloc(3 * kBlockBytes);
  program.kernel("write", 1000, {}, {data});
  program.prefetch(data, -1);
  program.sync();
  program.host(data, AccessMode::kWrite);  // mapped already
  Watched watched;
  const Counters c = program.run(options_with(0), &watched).counters;
  EXPECT_EQ(c.dtoh_user_bytes, 3 * kBlockBytes);
  EXPECT_EQ(c.cpu_faults, 0u);
  EXPECT_EQ(watched.resident_bytes, 0u);
}

TEST(ManagedCalls, PrefetchingMoreThanFitsEvicts) {
  Program program;
  const auto data = program.alloc(5 * kBlockBytes);
  program.host(data);
  program.prefetch(data, 0);
  program.sync();
  const Counters c = program.run(options_with(3)).counters;
  // There are two passes over the range, and none of its blocks is resident when its turn comes again.
  EXPECT_EQ(bytes_in(c), 10 * kBlockBytes);
  EXPECT_EQ(c.evictions, 7u);
  EXPECT_EQ(c.dtoh_evict_bytes, 7 * kBlockBytes);
}

TEST(ManagedCalls, MemsetPopulatesOnTheGpu) {
  Program program;
  const auto data = program.alloc(2 * kBlockBytes);
  program.add(trace::Memset{data, kBlockBytes / 2, kBlockBytes, 0, 0});
  program.sync();
  RunOptions options = options_with(0);
  options.prefetch.name = "none";
  const RunResult result = program.run(options);
  EXPECT_EQ(result.counters.populated_pages, std::uint64_t{kPagesPerBlock});
  EXPECT_EQ(bytes_in(result.counters), 0u);
  EXPECT_EQ(result.counters.kernels, 0u);  // not one of the program's kernels
  EXPECT_EQ(result.counters.faulting_pages, std::uint64_t{kPagesPerBlock});
}

TEST(ManagedCalls, AMemsetOutsideItsObjectIsAnError) {
  for (const auto& [offset, bytes] : {std::pair<std::uint64_t, std::uint64_t>{kBlockBytes, 1},
                                      {0, kBlockBytes + 1},
                                      {0, ~std::uint64_t{0}},
                                      {~std::uint64_t{0}, 2}}) {
    Program program;
    const auto data = program.alloc(kBlockBytes);
    program.add(trace::Memset{data, offset, bytes, 0, 0});
    EXPECT_THAT(message_of([&] { program.run(options_with(0)); }), HasSubstr("record 2: bytes"));
  }
}

TEST(ManagedCalls, CopyingIntoFreshManagedMemoryPopulatesIt) {
  Program program;
  const auto data = program.alloc(2 * kBlockBytes);
  program.add(copy(trace::CopyKind::kHostToDevice, {data, 0}, {}, 2 * kBlockBytes));
  const Counters c = program.run(options_with(0)).counters;
  EXPECT_EQ(c.populated_pages, 1024u);
  EXPECT_EQ(bytes_in(c), 0u);  // the copy's own bytes are not migrations
  EXPECT_GT(c.fault_batches, 0u);
}

TEST(ManagedCalls, CopyingOutOfManagedMemoryBringsItToTheGpu) {
  Program program;
  const auto data = program.alloc(2 * kBlockBytes);
  program.host(data);
  program.add(copy(trace::CopyKind::kDeviceToHost, {}, {data, kBlockBytes}, kBlockBytes));
  EXPECT_EQ(bytes_in(program.run(options_with(0)).counters), kBlockBytes);
}

TEST(ManagedCalls, ACopyOfUnmanagedMemoryTakesItsTime) {
  RunOptions options = options_with(0);
  options.system.host.pageable_copy_bytes_per_us = 5000;
  Program program;
  program.add(copy(trace::CopyKind::kHostToDevice, {}, {}, 50000000));  // 10 ms
  const RunResult result = program.run(options);
  const auto& runtime = options.system.runtime;
  EXPECT_EQ(result.total.value,
            static_cast<std::int64_t>(runtime.launch_ns + runtime.kernel_start_ns + 10000000 + runtime.synchronize_ns));
}

TEST(ManagedCalls, ABlockingCopyHoldsTheHost) {
  for (const bool blocking : {true, false}) {
    Program program;
    const auto marker = program.alloc(4096);
    auto record = copy(trace::CopyKind::kDeviceToDevice, {}, {}, std::uint64_t{1} << 30);  // a millisecond and more
    record.blocking = blocking;
    program.add(record);
    program.host(marker);
    Watched watched;
    program.run(options_with(0), &watched);
    EXPECT_EQ(watched.cpu_faults.at(0).start.value > 1000000, blocking);
  }
}

TEST(ManagedCalls, ReadMostlyDataIsCopiedAndStaysOnTheHost) {
  Program program;
  const auto data = program.alloc(2 * kBlockBytes);
  program.host(data);
  program.advise(data, Advice::kSetReadMostly);
  program.kernel("read", 1000, {data});
  program.sync();
  program.host(data, AccessMode::kRead);  // its copy is still there
  program.sync();
  const Program reads = program;
  const Counters c = reads.run(options_with(0)).counters;
  EXPECT_EQ(bytes_in(c), 2 * kBlockBytes);
  EXPECT_EQ(bytes_out(c), 0u);

  // Evicting a copy writes nothing back.
  const auto other = program.alloc(2 * kBlockBytes);
  program.kernel("push out", 1000, {}, {other});
  program.sync();
  const Counters evicted = program.run(options_with(2)).counters;
  EXPECT_EQ(evicted.evictions, 2u);
  EXPECT_EQ(evicted.evictions_without_copy, 2u);
  EXPECT_EQ(bytes_out(evicted), 0u);
}

TEST(ManagedCalls, AWriteEndsReadDuplication) {
  Program program;
  const auto data = program.alloc(kBlockBytes);
  program.host(data);
  program.advise(data, Advice::kSetReadMostly);
  program.kernel("read", 1000, {data});
  program.kernel("write", 1000, {}, {data});
  program.sync();
  program.host(data, AccessMode::kRead);  // the host's copy was invalid, so the page returns
  program.sync();
  const Counters c = program.run(options_with(0)).counters;
  EXPECT_EQ(bytes_in(c), kBlockBytes);
  EXPECT_EQ(bytes_out(c), kBlockBytes);
}

TEST(ManagedCalls, WithTheHostPreferredTheGpuReadsRemotely) {
  Program program;
  const auto data = program.alloc(2 * kBlockBytes);
  program.host(data);
  program.advise(data, Advice::kSetPreferredLocation, -1);
  program.kernel("remote", 1000, {data});
  program.sync();
  program.kernel("remote again", 1000, {data});
  program.sync();
  Watched watched;
  const Counters c = program.run(options_with(0), &watched).counters;
  EXPECT_EQ(bytes_in(c), 0u);
  EXPECT_EQ(c.remote_map_bytes, 2 * kBlockBytes);
  EXPECT_EQ(watched.resident_bytes, 0u);
  // When it is mapped, the kernel reads over the link while it computes: 4 MiB at 10 bytes per ns.
  const auto& again = watched.kernel("remote again");
  EXPECT_EQ((again.end - again.start).value, static_cast<std::int64_t>(2 * kBlockBytes / 10));
}

TEST(ManagedCalls, WithTheGpuPreferredTheDataComes) {
  Program program;
  const auto data = program.alloc(2 * kBlockBytes);
  program.host(data);
  program.advise(data, Advice::kSetPreferredLocation, 0);
  program.kernel("read", 1000, {data});
  program.sync();
  const Counters c = program.run(options_with(0)).counters;
  EXPECT_EQ(bytes_in(c), 2 * kBlockBytes);
  EXPECT_EQ(c.remote_maps, 0u);
}

TEST(ManagedCalls, AccessedByMapsWithoutAFault) {
  Program program;
  const auto data = program.alloc(2 * kBlockBytes);
  program.host(data);
  program.advise(data, Advice::kSetAccessedBy, 0);
  program.kernel("remote", 1000, {data});
  program.sync();
  const Counters c = program.run(options_with(0)).counters;
  EXPECT_EQ(c.raw_faults, 0u);
  EXPECT_EQ(bytes_in(c), 0u);
  EXPECT_EQ(c.remote_map_bytes, 2 * kBlockBytes);
  EXPECT_EQ(c.remote_access_bytes, 2 * kBlockBytes);
}

TEST(ManagedCalls, DiscardedPagesAreNotWrittenBack) {
  Program program;
  const auto data = program.alloc(2 * kBlockBytes);
  const auto other = program.alloc(2 * kBlockBytes);
  program.kernel("write", 1000, {}, {data});
  program.add(trace::Discard{data, 0, 2 * kBlockBytes, 0});
  program.kernel("other", 1000, {}, {other});
  program.kernel("write again", 1000, {}, {data});
  program.sync();
  const Counters c = program.run(options_with(2)).counters;
  EXPECT_EQ(c.discarded_pages, 1024u);
  EXPECT_EQ(c.dtoh_evict_bytes, 2 * kBlockBytes);  // only pages of `other`
  EXPECT_EQ(bytes_in(c), 0u);
  EXPECT_EQ(c.populated_pages, 3u * 1024u);
}

TEST(ManagedCalls, ErrorsNameTheRecordAndWhatIsWrong) {
  const auto error_of = [](auto&& change) {
    Program program;
    const auto data = program.alloc(kBlockBytes);
    change(program, data);
    return message_of([&] { program.run(options_with(4)); });
  };
  EXPECT_THAT(error_of([](Program& p, auto id) {
                p.add(trace::Prefetch{id, 0, kBlockBytes + 1, 0, 0, 0});
              }),
              HasSubstr("record 2: bytes 0 to 2097153 lie outside object 1"));
  EXPECT_THAT(error_of([](Program& p, auto id) {
                p.add(trace::Prefetch{id, 0, 1, 3, 0, 0});
              }),
              HasSubstr("record 2: prefetch to device 3"));
  EXPECT_THAT(error_of([](Program& p, auto id) { p.advise(id, Advice::kSetReadMostly, 5); }),
              HasSubstr("record 2: advice for device 5"));
  EXPECT_THAT(error_of([](Program& p, auto id) { p.host(id, 500, 13, AccessMode::kRead); }),
              HasSubstr("record 2: CPU touch of object 1 past its end"));
  EXPECT_THAT(error_of([](Program& p, auto id) { p.kernel("k", 1, {id}).accesses[0].extents.edit()[0].count = 600; }),
              HasSubstr("record 2: touch of object 1 past its end"));
  EXPECT_THAT(error_of([](Program& p, auto id) { p.kernel("k", 1, {id}).device = 1; }),
              HasSubstr("kernel 'k' runs on device 1; system 'plain' has 1"));
  EXPECT_THAT(error_of([](Program& p, auto id) {
                p.free(id);
                p.kernel("k", 1).accesses.push_back({id, {{0, 1, AccessMode::kRead}}});
              }),
              HasSubstr("record 3: object 1 was never allocated or is already freed"));
  EXPECT_THAT(error_of([](Program& p, auto id) {
                p.free(id);
                p.free(id);
              }),
              HasSubstr("record 3: object 1 was never allocated or is already freed"));
}

TEST(ManagedCalls, ImpossibleCapacitiesAreErrors) {
  Program program;
  program.alloc(kBlockBytes);
  RunOptions options = options_with(1);
  options.capacity_bytes = kBlockBytes - 1;
  EXPECT_THAT(message_of([&] { program.run(options); }), HasSubstr("at least one chunk of 2097152 bytes"));
  options.capacity_bytes = 0;
  options.osf_thousandths = 0;
  EXPECT_THAT(message_of([&] { program.run(options); }), HasSubstr("oversubscription factor is 0"));
  options.osf_thousandths = 2000;
  EXPECT_THAT(message_of([&] { program.run(options); }), HasSubstr("needs a footprint"));
}

// Returns the host's time at which the CPU first touches a page of an object that nothing else uses: the time when it
// reaches that point of the program.
std::int64_t host_time(const Program& program, const RunOptions& options) {
  Watched watched;
  program.run(options, &watched);
  return watched.cpu_faults.back().start.value;
}

// After a kernel of its stream a prefetch takes the caller almost no time; on an idle stream the caller waits for all
// of the driver's work.
TEST(ManagedCalls, APrefetchOccupiesTheCallerWhereItsStreamIsIdle) {
  const auto after_the_call = [](bool prefetches, bool busy, std::int32_t to, std::uint64_t blocks) {
    Program program;
    const auto data = program.alloc(blocks * kBlockBytes);
    const auto probe = program.alloc(kBlockBytes);
    program.host(data);
    program.prefetch(data, to < 0 ? 0 : -1);
    program.sync();
    if (busy) program.kernel("busy", 50'000'000);
    if (prefetches) program.prefetch(data, to);
    program.host(probe, 0, 1, AccessMode::kWrite);
    return host_time(program, options_with(0));
  };
  for (const std::int32_t to : {0, -1}) {
    for (const std::uint64_t blocks : {1u, 16u}) {
      const auto cost = [&](bool busy) {
        return after_the_call(true, busy, to, blocks) - after_the_call(false, busy, to, blocks);
      };
      const config::DriverCosts costs = plain_system().costs;
      EXPECT_GT(cost(false), static_cast<std::int64_t>(blocks * costs.prefetch_copy_block_ns));
      EXPECT_LT(cost(true), 50'000);
    }
  }
}

// cudaMemset of managed memory waits for the fill, cudaMemsetAsync does not; of ordinary memory neither waits.
TEST(ManagedCalls, ABlockingMemsetOfManagedMemoryKeepsTheHost) {
  const auto after_the_call = [](bool blocking, std::int64_t kernel_ns) {
    Program program;
    const auto data = program.alloc(kBlockBytes);
    const auto probe = program.alloc(kBlockBytes);
    program.prefetch(data, 0);
    program.sync();
    program.kernel("busy", kernel_ns);
    program.add(trace::Memset{data, 0, kBlockBytes, 0, 0, blocking});
    program.host(probe, 0, 1, AccessMode::kWrite);
    return host_time(program, options_with(0));
  };
  EXPECT_EQ(after_the_call(false, 1'000'000), after_the_call(false, 9'000'000));
  EXPECT_EQ(after_the_call(true, 9'000'000) - after_the_call(true, 1'000'000), 8'000'000);
}

}  // namespace
}  // namespace uvmsim
