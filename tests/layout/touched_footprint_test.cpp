// SPDX-License-Identifier: Apache-2.0
// The touched footprint, computed by hand, and for random programs by counting every block at every record.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "sim/layout/footprint.h"

namespace uvmsim::layout::touched_footprint_test {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint32_t kQuantum = 4096;

trace::Record object(trace::ObjectId id, std::uint64_t bytes, trace::ObjectKind kind = trace::ObjectKind::kManaged) {
  trace::ObjectAlloc record;
  record.id = id;
  record.kind = kind;
  record.bytes = bytes;
  return record;
}

trace::Record kernel(trace::ObjectId id, std::uint64_t first_byte, std::uint64_t bytes) {
  trace::Kernel record;
  trace::ObjectAccess access;
  access.object = id;
  access.extents.push_back({first_byte / kQuantum, bytes / kQuantum, trace::AccessMode::kRead});
  record.accesses.push_back(std::move(access));
  return record;
}

std::uint64_t touched(const std::vector<trace::Record>& records, const LayoutChoice& layout = "recorded") {
  FootprintMeter meter(layout);
  meter.follow_touches(kQuantum);
  for (const trace::Record& record : records) meter.add(record, false);
  return meter.touched_footprint_bytes();
}

TEST(TouchedFootprint, CountsABlockFromItsFirstToItsLastTouch) {
  const trace::Record arena = object(1, 64 * kMiB);
  const trace::Record low = kernel(1, 0, 8 * kMiB), high = kernel(1, 32 * kMiB, 8 * kMiB);
  EXPECT_EQ(touched({arena}), 0);
  EXPECT_EQ(touched({arena, low}), 8 * kMiB);
  EXPECT_EQ(touched({arena, low, low, high}), 8 * kMiB);
  EXPECT_EQ(touched({arena, low, high, low}), 16 * kMiB);
  EXPECT_EQ(touched({arena, kernel(1, 3 * kMiB, kQuantum), kernel(1, 5 * kMiB, kQuantum)}), 2 * kMiB);
}

TEST(TouchedFootprint, MemoryThatComesAgainIsAnotherOne) {
  const trace::Record free = trace::ObjectFree{1};
  const std::vector<trace::Record> once = {object(1, 8 * kMiB), kernel(1, 0, 8 * kMiB), free};
  std::vector<trace::Record> twice = once;
  twice.push_back(object(2, 8 * kMiB));
  twice.push_back(kernel(2, 0, 4 * kMiB));
  EXPECT_EQ(touched(twice), 8 * kMiB);
}

// Memory that a GPU does not touch, and unmanaged memory, take none of its memory.
TEST(TouchedFootprint, CountsTouchesOfAGpuToManagedMemory) {
  trace::Memcpy copy;
  copy.dst = {1, 4 * kMiB};
  copy.bytes = 4 * kMiB;
  trace::Memset set;
  set.object = 1;
  set.offset = 12 * kMiB;
  set.bytes = 100;
  trace::Prefetch prefetch;
  prefetch.object = 1;
  prefetch.bytes = 2 * kMiB;
  const trace::Record arena = object(1, 64 * kMiB);
  EXPECT_EQ(touched({arena, copy}), 4 * kMiB);
  EXPECT_EQ(touched({arena, set}), 2 * kMiB);
  EXPECT_EQ(touched({arena, prefetch}), 2 * kMiB);
  prefetch.destination = -1;
  trace::HostAccess host;
  host.object = 1;
  host.extents.push_back({0, 512, trace::AccessMode::kWrite});
  EXPECT_EQ(touched({arena, prefetch, host}), 0);
  EXPECT_EQ(touched({object(1, 64 * kMiB, trace::ObjectKind::kDevice), kernel(1, 0, 8 * kMiB)}), 0);
}

// Computes the footprint by its definition: at every record, the blocks that have been touched and will be touched
// again before they are freed.
class Naive {
 public:
  void allocate(trace::ObjectId id, std::uint64_t bytes) { bytes_[id] = bytes; }
  void touch(trace::ObjectId id, std::uint64_t first_byte, std::uint64_t bytes, std::size_t record) {
    for (std::uint64_t at = first_byte; at < std::min(first_byte + bytes, bytes_.at(id)); at += kQuantum) {
      touches_[{id, at / (2 * kMiB)}].push_back(record);
    }
  }
  std::uint64_t peak_bytes(std::size_t records) const {
    std::uint64_t peak = 0;
    for (std::size_t now = 0; now < records; ++now) {
      std::uint64_t slots = 0;
      for (const auto& [block, at] : touches_) {
        if (at.front() > now || at.back() < now) continue;
        const std::uint64_t left = bytes_.at(block.first) - block.second * 2 * kMiB;
        slots += std::min<std::uint64_t>(32, (left + 65535) / 65536);
      }
      peak = std::max(peak, slots);
    }
    return (peak + 31) / 32 * 2 * kMiB;
  }

 private:
  std::map<trace::ObjectId, std::uint64_t> bytes_;
  std::map<std::pair<trace::ObjectId, std::uint64_t>, std::vector<std::size_t>> touches_;
};

TEST(TouchedFootprint, OfRandomProgramsIsTheNaiveCount) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    std::vector<trace::Record> records;
    std::map<trace::ObjectId, std::uint64_t> live;
    Naive naive;
    trace::ObjectId next = 1;
    for (int step = 0; step < 150; ++step) {
      if (live.empty() || below(8) == 0) {
        // 2 MB and more: each has blocks of its own.
        const std::uint64_t bytes = 2 * kMiB + below(40 * kMiB / kQuantum) * kQuantum;
        records.push_back(object(next, bytes));
        naive.allocate(next, bytes);
        live[next++] = bytes;
        continue;
      }
      auto at = live.begin();
      std::advance(at, below(live.size()));
      if (below(12) == 0) {
        records.push_back(trace::ObjectFree{at->first});
        live.erase(at);
        continue;
      }
      const std::uint64_t first = below(at->second / kQuantum) * kQuantum;
      const std::uint64_t bytes = (1 + below((at->second - first) / kQuantum)) * kQuantum;
      naive.touch(at->first, first, bytes, records.size());
      records.push_back(kernel(at->first, first, bytes));
    }
    FootprintMeter allocated("none");
    for (const trace::Record& record : records) allocated.add(record, false);
    const std::uint64_t expected = naive.peak_bytes(records.size());
    EXPECT_EQ(touched(records, "none"), expected);
    EXPECT_EQ(touched(records, "recorded"), expected);
    EXPECT_LE(expected, allocated.footprint_bytes());
  }
}

}  // namespace
}  // namespace uvmsim::layout::touched_footprint_test
