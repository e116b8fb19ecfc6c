// SPDX-License-Identifier: Apache-2.0
// Runs the patch's marking code on the host and compares the records with naive sets.
#include "tracer/access/mark.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "tests/tracer/access/host_machine.h"
#include "tests/tracer/access/naive.h"
#include "tracer/access/chunk_table.h"
#include "tracer/access/extract.h"
#include "tracer/access/slices.h"

namespace uvmtrace::access {
namespace {

constexpr std::uint64_t kVa = 0x7f0000000000 + 12345 * 512;

// Device memory of a launch, on the host.
class Bench {
 public:
  explicit Bench(std::uint64_t bytes, std::uint32_t phases = 0, std::uint64_t blocks = 1, bool extras = false)
      : slices_(blocks, phases) {
    table_.add(kVa, bytes);
    (void)table_.refresh();
    const std::uint32_t order_offset = kPhaseOffset + phases * 8;
    const std::uint32_t counts_offset = order_offset + 8;
    marks_.record_bytes = extras ? counts_offset + 128 : order_offset;
    records_.assign(std::size_t{table_.size()} * marks_.record_bytes / 8, 0);
    dirty_.assign((table_.size() + 63) / 64, 0);
    order_.assign(std::size_t{table_.size()} * kPagesPerChunk, 0);
    marks_.table = reinterpret_cast<std::uint64_t>(table_.entries().data());
    marks_.table_shift = table_.shift();
    marks_.table_mask = static_cast<std::uint32_t>(table_.entries().size() - 1);
    marks_.records = reinterpret_cast<std::uint64_t>(records_.data());
    marks_.dirty = reinterpret_cast<std::uint64_t>(dirty_.data());
    marks_.order_log = reinterpret_cast<std::uint64_t>(order_.data());
    marks_.order_capacity = static_cast<std::uint32_t>(order_.size());
    marks_.phases = phases;
    marks_.slice_factor = slices_.factor();
    if (extras) {
      marks_.order_offset = order_offset;
      marks_.counts_offset = counts_offset;
    }
  }

  void access(std::uint64_t address, std::uint64_t bytes, std::uint32_t mode, std::uint64_t block = 0) {
    mark<HostMachine>(&marks_, address, bytes, mode, block);
  }

  // Returns the runs of all records; `only_dirty` leaves out the records without a dirty bit.
  Runs quanta(bool only_dirty) const {
    Runs runs;
    for (const auto& [chunk, record] : by_chunk(only_dirty)) {
      append_runs(std::span(record, 64), std::span(record + 64, 64), chunk * kQuantaPerChunk, runs);
    }
    return runs;
  }
  Runs pages(std::uint32_t slice) const {
    Runs runs;
    for (const auto& [chunk, record] : by_chunk(true)) {
      const auto* const words = reinterpret_cast<const std::uint32_t*>(record) + kPhaseOffset / 4;
      append_runs(words[slice], words[marks_.phases + slice], chunk * kPagesPerChunk, runs);
    }
    return runs;
  }
  std::uint32_t count(std::uint64_t page) const {
    for (const auto& [chunk, record] : by_chunk(true)) {
      if (chunk != page / kPagesPerChunk) continue;
      return reinterpret_cast<const std::uint32_t*>(record)[marks_.counts_offset / 4 + page % kPagesPerChunk];
    }
    return 0;
  }

  Marks marks_{};
  std::vector<std::uint64_t> order_;
  Slices slices_;

 private:
  std::map<std::uint64_t, const std::uint64_t*> by_chunk(bool only_dirty) const {
    std::map<std::uint64_t, const std::uint64_t*> out;
    for (std::uint32_t i = 0; i < table_.size(); ++i) {
      if (only_dirty && (dirty_[i / 64] >> i % 64 & 1) == 0) continue;
      out[table_.chunks()[i]] = records_.data() + std::size_t{i} * marks_.record_bytes / 8;
    }
    return out;
  }

  ChunkTable table_;
  std::vector<std::uint64_t> records_;
  std::vector<std::uint64_t> dirty_;
};

struct Access {
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint32_t mode;
  std::uint64_t block;
};

std::vector<Access> random_accesses(std::uint64_t seed, std::size_t count, std::uint64_t range, std::uint64_t blocks) {
  std::mt19937_64 random(seed);
  std::vector<Access> out;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bytes = std::uint64_t{1} << random() % 5;
    // Accesses are a mixture: dense ones, distant ones, and ones longer than a quantum, as bulk copies are.
    const std::uint64_t at = random() % 2 == 0 ? random() % (range / 100) : random() % (range - 70000);
    out.push_back({kVa + at / bytes * bytes, random() % 50 == 0 ? 16 * (1 + random() % 4000) : bytes,
                   static_cast<std::uint32_t>(1 + random() % 3), random() % blocks});
  }
  return out;
}

TEST(Mark, EqualsTheNaiveSet) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    constexpr std::uint64_t kRange = std::uint64_t{100} << 20;
    Bench bench(kRange);
    NaiveSet naive(kQuantumShift);
    for (const Access& a : random_accesses(seed, 5000, kRange, 1)) {
      bench.access(a.address, a.bytes, a.mode);
      naive.access(a.address, a.bytes, a.mode);
    }
    EXPECT_EQ(bench.quanta(true), naive.runs());
    EXPECT_EQ(bench.quanta(false), naive.runs()) << "every touched record has its dirty bit";
    EXPECT_EQ(bench.marks_.unknown, 0U);
  }
}

TEST(Mark, PhasesEqualNaiveSetsOfPages) {
  constexpr std::uint64_t kRange = std::uint64_t{64} << 20;
  for (const std::uint32_t phases : {1U, 7U, 16U, 64U}) {
    for (const std::uint64_t blocks : {1ULL, 10ULL, 1537ULL}) {
      Bench bench(kRange, phases, blocks);
      std::vector<NaiveSet> naive(phases, NaiveSet(kPageShift));
      const std::uint64_t slices = std::min<std::uint64_t>(phases, blocks);
      for (const Access& a : random_accesses(phases, 4000, kRange, blocks)) {
        bench.access(a.address, a.bytes, a.mode, a.block);
        naive[a.block * slices / blocks].access(a.address, a.bytes, a.mode);
      }
      for (std::uint32_t k = 0; k < phases; ++k) EXPECT_EQ(bench.pages(k), naive[k].runs()) << k;
    }
  }
}

TEST(Mark, ThreadsTogetherLeaveWhatOneLeaves) {
  constexpr std::uint64_t kRange = std::uint64_t{32} << 20;
  constexpr std::uint64_t kBlocks = 64;
  const std::vector<Access> accesses = random_accesses(99, 40000, kRange, kBlocks);
  Bench bench(kRange, 16, kBlocks, true);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      // The threads' parts overlap: two threads make every access.
      for (std::size_t i = 0; i < accesses.size(); ++i) {
        if (i % 4 != t && (i + 1) % 4 != t) continue;
        bench.access(accesses[i].address, accesses[i].bytes, accesses[i].mode, accesses[i].block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  NaiveSet naive(kQuantumShift);
  NaiveSet pages(kPageShift);
  std::map<std::uint64_t, std::uint64_t> counts;
  for (const Access& a : accesses) {
    naive.access(a.address, a.bytes, a.mode);
    pages.access(a.address, a.bytes, a.mode);
    for (std::uint64_t q = a.address >> kQuantumShift; q <= (a.address + a.bytes - 1) >> kQuantumShift; ++q) {
      counts[q >> (kPageShift - kQuantumShift)] += 2;
    }
  }
  EXPECT_EQ(bench.quanta(true), naive.runs());
  ASSERT_EQ(bench.marks_.order_size, pages.size()) << "each page is logged once";
  const std::set<std::uint64_t> logged(bench.order_.begin(), bench.order_.begin() + bench.marks_.order_size);
  EXPECT_EQ(logged.size(), pages.size());
  for (const auto& [page, count] : counts) EXPECT_EQ(bench.count(page), count) << page;
}

TEST(Mark, OrderIsThatOfTheFirstTouches) {
  Bench bench(std::uint64_t{16} << 20, 0, 1, true);
  const std::uint64_t base = (kVa >> kPageShift) + 1;
  for (const std::uint64_t page : {5ULL, 3ULL, 5ULL, 9ULL, 3ULL, 200ULL, 0ULL}) {
    bench.access((base + page) << kPageShift, 4, kRead);
  }
  ASSERT_EQ(bench.marks_.order_size, 5U);
  const std::vector<std::uint64_t> order(bench.order_.begin(), bench.order_.begin() + 5);
  EXPECT_EQ(order, (std::vector<std::uint64_t>{base + 5, base + 3, base + 9, base + 200, base}));
}

TEST(Mark, OrderStopsAtItsCapacity) {
  Bench bench(std::uint64_t{16} << 20, 0, 1, true);
  bench.marks_.order_capacity = 3;
  for (std::uint64_t page = 0; page < 10; ++page) bench.access(kVa + (page << kPageShift), 1, kWrite);
  EXPECT_EQ(bench.marks_.order_size, 10U);
  EXPECT_EQ(bench.order_[3], 0U);
}

TEST(Mark, CountsSaturate) {
  Bench bench(std::uint64_t{4} << 20, 0, 1, true);
  bench.access(kVa, 4, kRead);
  auto* const counter = reinterpret_cast<std::uint32_t*>(bench.marks_.records + bench.marks_.counts_offset) +
                        (kVa >> kPageShift) % kPagesPerChunk;
  ASSERT_EQ(*counter, 1U);
  *counter = kCountLimit - 1;
  for (int i = 0; i < 5; ++i) bench.access(kVa, 4, kRead);
  EXPECT_EQ(*counter, kCountLimit);
}

TEST(Mark, UnknownAddressesAreCountedWithSamples) {
  Bench bench(std::uint64_t{4} << 20, 16, 100);
  std::set<std::uint64_t> addresses;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t address = (std::uint64_t{1} << 40) + i * 4096;
    addresses.insert(address);
    bench.access(address, 8, kRead, 3);
  }
  EXPECT_EQ(bench.marks_.unknown, 1000U);
  EXPECT_TRUE(bench.quanta(false).empty());
  EXPECT_EQ(addresses.count(bench.marks_.unknown_at[0]), 1U);
  std::uint32_t samples = 0;
  for (const std::uint64_t address : bench.marks_.unknown_at) samples += address != 0;
  EXPECT_EQ(samples, kUnknownSamples);
}

TEST(Mark, AccessThatLeavesTheKnownChunks) {
  Bench bench(std::uint64_t{2} << 20);
  const std::uint64_t last = ((kVa + (std::uint64_t{2} << 20) - 1) >> kChunkShift) + 1;
  bench.access((last << kChunkShift) - 512, 1024, kWrite);
  EXPECT_EQ(bench.quanta(true), (Runs{{(last << 12) - 1, 1, kWrite}}));
  EXPECT_EQ(bench.marks_.unknown, 1U);
}

TEST(Mark, KernelsOfAGraphFindTheirOwnMarks) {
  std::vector<std::uint64_t> slots(kGraphSlots, 0);
  Marks single{};
  Marks graph{};
  graph.graph = reinterpret_cast<std::uint64_t>(slots.data());
  slots[7] = reinterpret_cast<std::uint64_t>(&single);
  HostMachine::grid() = 3 * std::uint64_t{kGraphSlots} + 7;
  EXPECT_EQ(marks_of_grid<HostMachine>(&graph), &single);
  EXPECT_EQ(marks_of_grid<HostMachine>(&single), &single);
  HostMachine::grid() = 8;
  EXPECT_EQ(marks_of_grid<HostMachine>(&graph), nullptr);
  EXPECT_EQ(marks_of_grid<HostMachine>(nullptr), nullptr);
}

TEST(Mark, NoBytesNoMark) {
  Bench bench(std::uint64_t{2} << 20);
  bench.access(kVa, 0, kRead | kWrite);
  EXPECT_TRUE(bench.quanta(false).empty());
}

}  // namespace
}  // namespace uvmtrace::access
