// SPDX-License-Identifier: Apache-2.0
#include "tracer/access/chunk_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "tests/tracer/access/host_machine.h"
#include "tracer/access/layout.h"

namespace uvmtrace::access {
namespace {

constexpr std::uint64_t kChunk = std::uint64_t{1} << kChunkShift;

// Searches like the device; returns ~0 for an unknown chunk.
std::uint32_t find(const ChunkTable& table, std::uint64_t chunk) {
  Marks marks{};
  marks.table = reinterpret_cast<std::uint64_t>(table.entries().data());
  marks.table_shift = table.shift();
  marks.table_mask = static_cast<std::uint32_t>(table.entries().size() - 1);
  return find_chunk<HostMachine>(&marks, chunk);
}

TEST(ChunkTable, FindsTheChunksOfAnAllocationAndNoOther) {
  ChunkTable table;
  const std::uint64_t va = 0x7f1234500000;
  table.add(va, 3 * kChunk);
  EXPECT_TRUE(table.refresh());
  EXPECT_EQ(table.size(), 4U);  // the allocation begins inside a chunk
  std::set<std::uint32_t> indices;
  for (std::uint64_t chunk = va / kChunk; chunk < va / kChunk + 4; ++chunk) {
    const std::uint32_t index = find(table, chunk);
    ASSERT_LT(index, table.size());
    EXPECT_EQ(table.chunks()[index], chunk);
    indices.insert(index);
  }
  EXPECT_EQ(indices.size(), 4U);
  EXPECT_EQ(find(table, va / kChunk - 1), ~0U);
  EXPECT_EQ(find(table, va / kChunk + 4), ~0U);
  EXPECT_EQ(find(table, 0), ~0U);
  EXPECT_FALSE(table.refresh());
}

TEST(ChunkTable, EmptyTableAnswersToo) {
  ChunkTable table;
  EXPECT_TRUE(table.refresh());
  EXPECT_EQ(find(table, 123), ~0U);
  table.add(4096, 0);
  EXPECT_FALSE(table.refresh());
}

TEST(ChunkTable, HighestAddresses) {
  ChunkTable table;
  const std::uint64_t va = (std::uint64_t{1} << 57) - kChunk;
  table.add(va, kChunk);
  EXPECT_TRUE(table.refresh());
  EXPECT_EQ(find(table, va / kChunk), 0U);
}

TEST(ChunkTable, AllocateAndFreeOverAndOverChangesNothing) {
  ChunkTable table;
  table.add(kChunk * 10, kChunk);
  (void)table.refresh();
  for (int i = 0; i < 100; ++i) {
    table.add(kChunk * 10 + 4096, 100);
    EXPECT_FALSE(table.refresh());
    table.remove(kChunk * 10 + 4096, 100);
    EXPECT_FALSE(table.refresh());
  }
  table.remove(kChunk * 10, kChunk);
  EXPECT_FALSE(table.refresh());
  EXPECT_EQ(find(table, 10), 0U);  // the entry is kept because the chunk may be allocated again
  table.add(kChunk * 10, kChunk);
  EXPECT_FALSE(table.refresh());
}

TEST(ChunkTable, RemoveOfWhatWasNeverAddedIsIgnored) {
  ChunkTable table;
  table.remove(kChunk * 3, kChunk * 5);
  table.add(kChunk * 3, kChunk);
  table.remove(kChunk * 3, kChunk);
  table.remove(kChunk * 3, kChunk);
  table.add(kChunk * 3, kChunk);
  EXPECT_TRUE(table.refresh());
  EXPECT_EQ(find(table, 3), 0U);
}

TEST(ChunkTable, NumbersAnewWhenMostIsUnused) {
  ChunkTable table;
  for (std::uint64_t i = 0; i < 100; ++i) table.add(kChunk * (1000 + i * 200), kChunk * 100);
  EXPECT_TRUE(table.refresh());
  EXPECT_EQ(table.size(), 10000U);
  for (std::uint64_t i = 0; i < 90; ++i) table.remove(kChunk * (1000 + i * 200), kChunk * 100);
  EXPECT_TRUE(table.refresh());
  EXPECT_EQ(table.size(), 1000U);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(find(table, 1000 + i * 200) != ~0U, i >= 90) << i;
}

TEST(ChunkTable, RandomHistoryAgainstAMap) {
  std::mt19937_64 random(7);
  ChunkTable table;
  std::map<std::uint64_t, std::uint64_t> live;
  for (int step = 0; step < 3000; ++step) {
    if (live.size() < 50 || random() % 3 != 0) {
      const std::uint64_t va = (random() % 4096) * (kChunk / 2) + (random() % 3 << 40);
      const std::uint64_t bytes = 1 + random() % (kChunk * 20);
      if (!live.try_emplace(va, bytes).second) continue;
      table.add(va, bytes);
    } else {
      auto victim = live.begin();
      std::advance(victim, static_cast<long>(random() % live.size()));
      table.remove(victim->first, victim->second);
      live.erase(victim);
    }
    if (step % 100 != 0) continue;
    (void)table.refresh();
    for (const auto& [va, bytes] : live) {
      for (const std::uint64_t address : {va, va + bytes / 2, va + bytes - 1}) {
        const std::uint32_t index = find(table, address / kChunk);
        ASSERT_LT(index, table.size());
        ASSERT_EQ(table.chunks()[index], address / kChunk);
      }
    }
    ASSERT_GE(table.entries().size(), 2 * table.size());
  }
}

}  // namespace
}  // namespace uvmtrace::access
