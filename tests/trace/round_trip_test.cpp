// SPDX-License-Identifier: Apache-2.0
// Written records are read back, in both file forms, and after conversion from one form to the other.
#include <gtest/gtest.h>

#include "sim/trace/limits.h"
#include "sim/trace/names.h"
#include "sim/trace/reader.h"
#include "tests/report/scratch_folder.h"
#include "tests/trace/samples.h"

namespace uvmsim::trace {
namespace {

constexpr TraceFormat kFormats[] = {TraceFormat::kUvmt, TraceFormat::kJsonLines};

void expect_same(const Trace& expected, const Trace& found) {
  EXPECT_TRUE(same(expected.header, found.header));
  ASSERT_EQ(expected.records.size(), found.records.size());
  for (std::size_t i = 0; i < expected.records.size(); ++i) {
    ASSERT_TRUE(same(expected.records[i], found.records[i]))
        << "record " << i + 1 << ", " << record_type_name(expected.records[i]);
  }
}

TEST(RoundTrip, EveryTypeAndEveryField) {
  const Trace trace{sample_header(), sample_records()};
  std::vector<bool> seen(std::variant_size_v<Record>);
  for (const Record& record : trace.records) seen[record.index()] = true;
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), static_cast<std::ptrdiff_t>(seen.size()));
  for (const TraceFormat format : kFormats) expect_same(trace, decode(encode(trace, format)));
}

TEST(RoundTrip, RandomRecords) {
  Random random(42);
  for (int repeat = 0; repeat < 50; ++repeat) {
    Trace trace{sample_header(), {}};
    for (int i = 0; i < 200; ++i) trace.records.push_back(random_record(random));
    for (const TraceFormat format : kFormats) {
      ASSERT_NO_FATAL_FAILURE(expect_same(trace, decode(encode(trace, format))));
    }
  }
}

TEST(RoundTrip, DumpAndPackGiveTheSameBytes) {
  const Trace trace{sample_header(), sample_records()};
  const std::string packed = encode(trace, TraceFormat::kUvmt);
  const std::string dumped = encode(decode(packed), TraceFormat::kJsonLines);
  EXPECT_EQ(encode(decode(dumped), TraceFormat::kUvmt), packed);
  EXPECT_EQ(encode(decode(encode(decode(dumped), TraceFormat::kUvmt)), TraceFormat::kJsonLines), dumped);
}

TEST(RoundTrip, NoRecords) {
  for (const TraceFormat format : kFormats) {
    expect_same({sample_header(), {}}, decode(encode({sample_header(), {}}, format)));
  }
}

TEST(RoundTrip, LimitsOfNumbers) {
  const std::uint64_t most = UINT64_MAX;
  Kernel kernel;
  kernel.grid = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
  kernel.host_gap_ns = kernel.duration_ns = kMaxTimeNs;
  kernel.accesses = {{most, {{0, 1, AccessMode::kRead}, {kMaxQuantum - 1, 1, AccessMode::kReadWrite}}},
                     {1, {{0, kMaxQuantum, AccessMode::kWrite}}}};
  kernel.touches = {
      {1, kMaxQuantum - 1, AccessMode::kWrite}, {1, 0, AccessMode::kWrite}, {1, kMaxQuantum - 1, AccessMode::kWrite}};
  kernel.phases = {{most, most, {}}};
  const Trace trace{Header{}, {ObjectAlloc{most, ObjectKind::kHost, most, most, kMaxDevice}, kernel}};
  for (const TraceFormat format : kFormats) expect_same(trace, decode(encode(trace, format)));
}

TEST(RoundTrip, ManyFramesWithInternedNames) {
  Trace trace{Header{}, {}};
  Random random(7);
  for (int i = 0; i < 20000; ++i) {
    Kernel kernel;
    kernel.name = "kernel number " + std::to_string(random.below(50));
    kernel.duration_ns = static_cast<std::int64_t>(random.next() >> 3);
    kernel.accesses = {{random.next(), {{random.below(1000), 1 + random.below(1000), AccessMode::kRead}}}};
    trace.records.emplace_back(kernel);
  }
  const std::string bytes = encode(trace, TraceFormat::kUvmt);
  expect_same(trace, decode(bytes));
  TraceReader reader(bytes, "t");
  Record record;
  while (reader.next(record)) {
  }
  EXPECT_GT(reader.position().frame, 2u);
  EXPECT_EQ(reader.position().record, 20000u);
}

TEST(RoundTrip, CompressedJsonLinesAreRead) {
  const Trace trace{sample_header(), sample_records()};
  const std::string lines = encode(trace, TraceFormat::kJsonLines);
  const std::size_t half = lines.size() / 2;
  expect_same(trace, decode(compress(lines)));
  expect_same(trace, decode(compress(lines.substr(0, half)) + compress(lines.substr(half))));
}

TEST(RoundTrip, FilesAreToldApartByContent) {
  const ScratchFolder folder;
  const Trace trace{sample_header(), sample_records()};
  for (const TraceFormat format : kFormats) {
    const std::string path = folder.write("trace.dat", encode(trace, format));
    TraceReader reader(path);
    EXPECT_TRUE(same(reader.header(), trace.header));
    EXPECT_EQ(reader.name(), path);
  }
}

TEST(RoundTrip, ReadingReusesOneRecordWithoutLeftovers) {
  // Reads a long kernel, then short ones and other types, into the same Record.
  Trace trace{Header{}, sample_records()};
  const auto again = sample_records();
  trace.records.insert(trace.records.end(), again.rbegin(), again.rend());
  expect_same(trace, decode(encode(trace, TraceFormat::kUvmt)));
}

// Phases with the kernel's own extents refer to them, whatever else the phases contain.
TEST(RoundTrip, PhasesOfManyExtents) {
  Random random(11);
  for (int round = 0; round < 50; ++round) {
    Kernel kernel;
    kernel.accesses.resize(1 + random.below(3));
    for (ObjectAccess& access : kernel.accesses) {
      std::uint64_t end = 0;
      for (std::uint64_t n = random.below(200); n > 0; --n) {
        const std::uint64_t first = end + random.below(9), count = 1 + random.below(9);
        access.extents.push_back({first, count, static_cast<AccessMode>(1 + random.below(3))});
        end = first + count;
      }
    }
    for (std::uint64_t n = random.below(6); n > 0; --n) {
      Phase& phase = kernel.phases.edit().emplace_back();
      for (std::uint32_t slot = 0; slot < kernel.accesses.size(); ++slot) {
        PhaseAccess& access = phase.accesses.emplace_back();
        access.slot = slot;
        for (Extent extent : kernel.accesses[slot].extents) {
          const std::uint64_t choice = random.below(8);
          if (choice == 0) continue;
          if (choice == 1) extent.mode = AccessMode::kRead;
          if (choice == 2) extent.count = 1;
          access.extents.push_back(extent);
        }
      }
    }
    for (const TraceFormat format : {TraceFormat::kUvmt, TraceFormat::kJsonLines}) {
      EXPECT_TRUE(same(decode(encode({sample_header(), {kernel}}, format)).records.at(0), Record(kernel))) << round;
    }
  }
}

TEST(RoundTrip, RepeatedExtentsAreCheap) {
  Kernel kernel;
  kernel.accesses.resize(1);
  for (std::uint64_t i = 0; i < 20000; ++i) kernel.accesses[0].extents.push_back({3 * i + i % 2, 1, AccessMode::kRead});
  const std::size_t once = decompress(encode({sample_header(), {kernel}}, TraceFormat::kUvmt)).size();
  for (std::uint64_t i = 0; i < 16; ++i) kernel.phases.edit().push_back({i, 1, {{0, kernel.accesses[0].extents}}});
  EXPECT_LT(decompress(encode({sample_header(), {kernel}}, TraceFormat::kUvmt)).size(), once + 16 * 30);
}

}  // namespace
}  // namespace uvmsim::trace
