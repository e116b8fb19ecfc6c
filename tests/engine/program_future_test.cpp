// SPDX-License-Identifier: Apache-2.0
// The knowledge of oracles: the order in which a program will use its memory, and the current position that the engine
// reports.
#include "sim/engine/program_future.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "tests/engine/program.h"

namespace uvmsim {
namespace {

using engine::read_future;
using policy::ContentIndex;
using policy::Future;

std::vector<std::uint64_t> sequence(const Program& program, std::uint64_t content_bytes) {
  const Future future =
      read_future(Program::header(), program.source(), options_with(64), 64 * kBlockBytes, content_bytes);
  std::vector<std::uint64_t> contents;
  for (Future::Position p = 0; p < future.end(); ++p) contents.push_back(future.at(p).value);
  return contents;
}

constexpr std::uint64_t kFreed = ~std::uint64_t{0};

TEST(ProgramFuture, OperandsOfAKernelAdvanceTogether) {
  Program program;
  const auto a = program.alloc(4 * kBigPageBytes), b = program.alloc(2 * kBigPageBytes);
  program.kernel("k", 1000, {a}, {b});
  EXPECT_EQ(sequence(program, kBigPageBytes), (std::vector<std::uint64_t>{0, 32, 1, 2, 33, 3}));
  EXPECT_EQ(sequence(program, kBlockBytes), (std::vector<std::uint64_t>{0, 1}));
}

TEST(ProgramFuture, RecordedTouchesComeInTheirOrderAndTheHostDoesNot) {
  Program program;
  const auto a = program.alloc(kBlockBytes);
  program.host(a);
  program.walk("w", a, 40, 10);
  EXPECT_EQ(sequence(program, kBigPageBytes), (std::vector<std::uint64_t>{2, 3}));
}

TEST(ProgramFuture, FreedMemoryEndsALife) {
  Program program;
  const auto a = program.alloc(2 * kBlockBytes);
  program.kernel("first", 1000, {}, {a});
  program.free(a);
  const auto b = program.alloc(2 * kBlockBytes);  // at the same addresses
  program.kernel("second", 1000, {}, {b});
  EXPECT_EQ(sequence(program, kBlockBytes), (std::vector<std::uint64_t>{0, 1, kFreed, 0, 1}));
  const Future future =
      read_future(Program::header(), program.source(), options_with(64), 64 * kBlockBytes, kBlockBytes);
  EXPECT_EQ(future.next_use(ContentIndex(0), 1), Future::kNever);
}

// Passes over more data than memory holds.
Program scans(int passes, std::uint64_t mebibytes) {
  Program program;
  const auto a = program.alloc(mebibytes * kMiB);
  program.host(a);
  for (int pass = 0; pass < passes; ++pass) program.walk("pass", a, 0, mebibytes * 256);
  program.sync();
  return program;
}

TEST(Oracles, MinReloadsNoMoreThanItMust) {
  // 8 blocks, 6 chunks, 4 passes of one thread: MIN loads 8 + 3 * 2 blocks or a little more; LRM all of them.
  const Program program = scans(4, 16);
  RunOptions options = options_with(6);
  options.prefetch.name = "always_2mb";
  options.evict.name = "lrm";
  const RunResult lrm = program.run(options);
  EXPECT_EQ(bytes_in(lrm.counters), 4 * 8 * kBlockBytes);
  for (const char* oracle : {"min", "min_dirty"}) {
    options.evict.name = oracle;
    const RunResult result = program.run(options);
    // Textbook values: 8 misses, then 2 or 3 per pass.
    EXPECT_LE(bytes_in(result.counters), (8 + 3 * 3) * kBlockBytes) << oracle;
    EXPECT_GE(bytes_in(result.counters), (8 + 3 * 2) * kBlockBytes) << oracle;
    EXPECT_LT(result.total, lrm.total) << oracle;
  }
}

TEST(Oracles, MinKernelKeepsWhatTheNextKernelUses) {
  // Kernels use A, B, A, C, A, ... in turn, and two fit: A should stay.
  Program program;
  std::vector<trace::ObjectId> objects;
  for (int i = 0; i < 4; ++i) {
    objects.push_back(program.alloc(2 * kBlockBytes));
    program.host(objects.back());
  }
  for (int round = 0; round < 12; ++round) {
    program.kernel("a", 1000, {objects[0]});
    program.sync();
    program.kernel("other", 1000, {objects[1 + static_cast<std::size_t>(round) % 3]});
    program.sync();
  }
  RunOptions options = options_with(4);
  options.prefetch.name = "always_2mb";
  options.evict.name = "min_kernel";
  const RunResult result = program.run(options);
  // A is loaded once; the other three, cyclic in one place, are loaded every time.
  EXPECT_EQ(bytes_in(result.counters), (1 + 12) * 2 * kBlockBytes);
}

TEST(Oracles, OracleNextBringsWhatIsToCome) {
  Program program;
  const auto a = program.alloc(16 * kMiB), b = program.alloc(16 * kMiB);
  program.host(a);
  program.host(b);
  program.walk("a", a, 0, 4096);
  program.walk("b", b, 0, 4096);
  program.sync();
  RunOptions options = options_with(32);
  options.prefetch = {"oracle_next", {{"units", "128"}}};
  const RunResult result = program.run(options);
  EXPECT_EQ(result.counters.fault_batches, 512u / 128u) << "in order, across blocks and allocations";
  EXPECT_EQ(bytes_in(result.counters), 32 * kMiB);
}

TEST(Oracles, AreRefusedWhereTheTraceCannotBeReadTwice) {
  const Program program = scans(1, 4);
  RunOptions options = options_with(6);
  options.evict.name = "min";
  const auto message = [&](const RunObserver& observer) -> std::string {
    try {
      simulate(Program::header(), program.source(), options, observer);
    } catch (const InputError& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(message({}), "evict policy 'min' knows the future (class D4), and the trace cannot be read ahead here");
  RunObserver observer;
  observer.reopen = [&] { return program.source(); };
  EXPECT_EQ(message(observer), "nothing");
}

TEST(Oracles, KnowTheUsesOfAllGpus) {
  Program program;
  const auto a = program.alloc(8 * kMiB), b = program.alloc(8 * kMiB);
  for (int round = 0; round < 4; ++round) {
    program.walk("a", a, 0, 2048);
    program.walk("b", b, 0, 2048).device = 1;
    program.sync();
  }
  RunOptions options = options_with(3);
  options.system.gpus.push_back(options.system.gpus.front());
  options.system.host_links.push_back(options.system.host_links.front());
  options.prefetch.name = "oracle_next";
  options.evict = {"min", {{"granularity", "64k"}}};
  const RunResult result = program.run(options);
  EXPECT_EQ(result.counters.policy_shortfalls, 0u);
  EXPECT_GT(result.counters.evictions, 0u);
}

}  // namespace
}  // namespace uvmsim
