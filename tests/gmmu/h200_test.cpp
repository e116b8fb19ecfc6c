// SPDX-License-Identifier: Apache-2.0
// The GMMU against two pointer chases and the streams measured on an H200.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "sim/common/random.h"
#include "sim/gmmu/gmmu.h"

namespace uvmsim::gmmu {
namespace {

constexpr std::uint32_t kSms = 132;
constexpr double kCyclesPerNs = 1.98;  // SM clock

// The figures of h200_tlb.txt; README.md of this folder derives each of them.
config::GmmuConfig h200() {
  config::GmmuConfig c;
  c.l1_tlb_entries = 16 * kPagesPerEntry;
  c.l1_tlb_ways = 16;
  c.l2_tlb_entries = 2048 * kPagesPerEntry;
  c.l2_tlb_ways = 16;
  c.walk_cache_entries = 8192 * kPagesPerEntry;
  c.walkers = 16;
  c.walk_levels_4k = 6;
  c.walk_levels_2m = 5;
  c.l2_tlb_hit_ns = 5;
  c.walk_level_ns = 280;
  return c;
}

// Memory of which `resident` bytes of every `stride` bytes are mapped.
struct Memory {
  std::uint64_t resident, stride;
  EntrySize size;
  std::uint64_t page_of(std::uint64_t byte) const {
    return (byte / resident * stride + byte % resident) / kBasePageBytes;
  }
};
const std::map<std::string, Memory> kMemories = {
    {"2M", {120ull << 30, 120ull << 30, EntrySize::k2M}}, {"2M/64K", {1 << 20, 2 << 20, EntrySize::k2M}},
    {"2M/4K", {32 << 10, 64 << 10, EntrySize::k2M}},      {"64K", {1 << 20, 2 << 20, EntrySize::k64K}},
    {"4K", {32 << 10, 64 << 10, EntrySize::k4K}},
};

// Returns the mean cycles that translation adds to one access of a chase through `pages` pages, in a settled round.
double chase_cycles(const Memory& memory, std::uint64_t page_bytes, std::uint64_t pages, bool random_order) {
  GmmuCounters counters;
  Gmmu gmmu(h200(), kSms, counters);
  std::vector<std::uint64_t> order(pages);
  for (std::uint64_t i = 0; i < pages; ++i) order[i] = memory.page_of(i * page_bytes);
  Random random(1);
  for (std::uint64_t i = pages; random_order && i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  std::int64_t sum = 0;
  for (int round = 0; round < 2; ++round) {
    sum = 0;
    for (const std::uint64_t page : order) {
      sum += gmmu.translate(0, BlockIndex(page / kPagesPerBlock), page % kPagesPerBlock, memory.size).value;
    }
  }
  return kCyclesPerNs * static_cast<double>(sum) / static_cast<double>(pages);
}

// Returns the settled additional nanoseconds when all SMs read `bytes` of this memory once.
std::int64_t stream_stall(const Memory& memory, std::uint64_t bytes) {
  GmmuCounters counters;
  Gmmu gmmu(h200(), kSms, counters);
  PageMask pages;
  for (unsigned page = 0; page < kPagesPerBlock; ++page) {
    if (page * kBasePageBytes % memory.stride < memory.resident) pages.set(page);
  }
  const std::uint64_t blocks = bytes / memory.resident * memory.stride / kBlockBytes;
  std::int64_t sum = 0;
  for (int round = 0; round < 2; ++round) {
    sum = 0;
    for (std::uint64_t block = 0; block < blocks; ++block) {
      sum += gmmu.touch(BlockIndex(block), pages, EntrySizes::all(memory.size), kSms).value;
    }
  }
  return sum;
}

struct Chase {
  std::string memory;
  std::uint64_t page_bytes, pages;
  bool random_order;
  double cycles;
};
struct Stream {
  std::string memory;
  std::uint64_t megabytes;
  double gigabytes_per_second;
};
struct Measured {
  std::vector<Chase> chases;    // of one SM
  std::vector<Stream> streams;  // with 8 blocks per SM
};

Measured measured() {
  std::ifstream file(std::string(UVMSIM_SOURCE_DIR) + "/tests/gmmu/h200_tlb.txt");
  Measured result;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream in(line);
    std::string kind, memory, word;
    std::uint64_t number = 0;
    in >> kind >> memory >> number;
    if (kind == "chase") {
      Chase chase{memory, number * 1024, 0, false, 0};
      std::uint64_t sms = 0;
      in >> word >> chase.pages >> word >> word;
      chase.random_order = word == "random";
      in >> sms >> word >> chase.cycles;
      if (sms == 1) result.chases.push_back(chase);
    } else if (kind == "stream") {
      Stream stream{memory, number, 0};
      std::uint64_t blocks_per_sm = 0;
      in >> word >> blocks_per_sm >> word >> stream.gigabytes_per_second;
      if (blocks_per_sm == 8) result.streams.push_back(stream);
    }
  }
  return result;
}

TEST(H200, ChaseThroughEveryEntrySize) {
  const Measured table = measured();
  ASSERT_GT(table.chases.size(), 100u);
  std::map<std::tuple<std::string, std::uint64_t, bool>, double> by_row;
  for (const Chase& c : table.chases) by_row[{c.memory, c.pages, c.random_order}] = c.cycles;
  double worst = 0;
  for (const Chase& c : table.chases) {
    const double added = chase_cycles(kMemories.at(c.memory), c.page_bytes, c.pages, c.random_order);
    // The latency of the data itself: measured over the same lines mapped by 2 MB entries, less the translation cost of
    // these in the model. For chases over 2 MB pages it is that of the smallest chase.
    double data = 279;
    if (c.memory == "64K" || c.memory == "4K") {
      const std::string control = "2M/" + c.memory;
      data = by_row.at({control, c.pages, c.random_order}) -
             chase_cycles(kMemories.at(control), c.page_bytes, c.pages, c.random_order);
    } else if (c.memory != "2M") {
      continue;
    }
    const double error = (data + added) / c.cycles - 1;
    worst = std::max(worst, std::abs(error));
    RecordProperty(c.memory + "_" + std::to_string(c.pages) + (c.random_order ? "_random" : "_ascending"),
                   std::to_string(c.cycles) + " measured, " + std::to_string(data + added));
    EXPECT_LT(std::abs(error), 0.12) << c.memory << " " << c.pages << " pages, "
                                     << (c.random_order ? "random" : "ascending") << ": measured " << c.cycles
                                     << " cycles, model " << data + added << ", of them translation " << added;
  }
  std::printf("largest error %.1f %%\n", 100 * worst);
}

TEST(H200, LevelsEndWhereTheyEndOnTheCard) {
  const auto random = [](const char* memory, std::uint64_t page_bytes, std::uint64_t pages) {
    return chase_cycles(kMemories.at(memory), page_bytes, pages, true);
  };
  // L1: 16 entries of 16 pages; the 4 KB memory has only half of each entry's pages.
  EXPECT_EQ(random("2M", 2 << 20, 256), 0);
  EXPECT_GT(random("2M", 2 << 20, 512), 5);
  EXPECT_EQ(random("4K", 4096, 128), 0);
  EXPECT_GT(random("4K", 4096, 256), 3);
  // L2: 2048 entries.
  EXPECT_LT(random("2M", 2 << 20, 32768), 10.5);
  EXPECT_GT(random("2M", 2 << 20, 49152), 30);
  EXPECT_LT(random("4K", 4096, 16384), 10.5);
  EXPECT_GT(random("4K", 4096, 24576), 30);
  // Walk cache: 8192 lines.
  EXPECT_LT(random("64K", 65536, 98304), 110);
  EXPECT_GT(random("64K", 65536, 196608), 200);
}

// The older chase, whose lines are a power of two apart. Equal latencies for 32 times as many pages show that it
// measures the data caches, not the TLBs; the model agrees.
TEST(H200, ChaseThatMeasuresDataCaches) {
  struct Row {
    std::uint64_t accesses;
    double stride_64k, stride_2m;  // cycles per access
  };
  const Row rows[] = {{256, 42.2, 41.7},    {512, 161.1, 162.0},  {1024, 219.7, 222.0}, {2048, 339.5, 353.7},
                      {4096, 396.9, 408.7}, {8192, 408.9, 414.9}, {16384, 527.6, 531.7}};
  const Memory& memory = kMemories.at("2M");
  for (const Row& row : rows) {
    const double narrow = chase_cycles(memory, 65536, row.accesses, false);
    const double wide = chase_cycles(memory, 2 << 20, row.accesses, false);
    EXPECT_LT(wide, 0.01 * row.stride_2m + 0.7);
    EXPECT_NEAR(row.stride_2m - wide, row.stride_64k - narrow, 0.05 * row.stride_64k) << row.accesses;
  }
}

TEST(H200, StreamsOverSmallEntries) {
  const Measured table = measured();
  std::map<std::pair<std::string, std::uint64_t>, double> by_row;
  for (const Stream& s : table.streams) by_row[{s.memory, s.megabytes}] = s.gigabytes_per_second;
  int rows = 0;
  for (const Stream& s : table.streams) {
    if (s.memory != "64K" && s.memory != "4K") continue;
    const double bytes = static_cast<double>(s.megabytes << 20);
    const double with_2m = bytes / by_row.at({"2M/" + s.memory, s.megabytes});
    const double model = with_2m + static_cast<double>(stream_stall(kMemories.at(s.memory), s.megabytes << 20));
    EXPECT_NEAR(model, bytes / s.gigabytes_per_second, 0.2 * bytes / s.gigabytes_per_second)
        << s.memory << " " << s.megabytes << " MB";
    std::printf("%s %llu MB: measured %.0f us, model %.0f us\n", s.memory.c_str(),
                static_cast<unsigned long long>(s.megabytes), bytes / s.gigabytes_per_second / 1000, model / 1000);
    ++rows;
  }
  EXPECT_EQ(rows, 8);
}

}  // namespace
}  // namespace uvmsim::gmmu
