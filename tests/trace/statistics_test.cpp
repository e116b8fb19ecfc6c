// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/trace/samples.h"

namespace uvmsim::trace {
namespace {

using ::testing::HasSubstr;

constexpr auto kR = AccessMode::kRead, kW = AccessMode::kWrite;

TraceStatistics summarize_records(const std::vector<Record>& records) {
  Header header;
  header.quantum_bytes = 4096;
  header.program = "p";
  const std::string bytes = encode({header, records}, TraceFormat::kUvmt);
  TraceReader reader(bytes, "t");
  return summarize(reader);
}

std::vector<Record> program() {
  Kernel kernel;
  kernel.name = "k";
  kernel.duration_ns = 100;
  kernel.host_gap_ns = 7;
  kernel.grid.x = 2;
  kernel.accesses = {{1, {{0, 1, kR}, {1, 2, kW}}}};  // object 1 has 10000 bytes, so its third quantum has 1808
  Kernel with_phases = kernel;
  with_phases.name = "other";
  with_phases.stream = 1;
  with_phases.coverage = Coverage::kParameters;
  with_phases.phases = {{0, 1, {{0, {{0, 1, kR}}}}}, {1, 1, {{0, {{0, 1, kR}, {1, 2, kW}}}}}};
  return {ObjectAlloc{1, ObjectKind::kManaged, 10000, 0, 0},
          ObjectAlloc{2, ObjectKind::kDevice, 500, 0, 0},
          TensorAlloc{3, 64, 0, 1, 0, ""},
          Memcpy{{1, 0}, {}, 300, CopyKind::kHostToDevice, 0, true, 3},
          kernel,
          Range{RangeKind::kIterationBegin, "", 4},
          with_phases,
          Range{RangeKind::kIterationEnd, "", 4},
          TensorFree{3},
          ObjectFree{1},
          ObjectAlloc{4, ObjectKind::kManaged, 9000, 0, 0},
          Memset{4, 0, 10, 0, 0}};
}

// 2^18 kernels of 2^46 bytes each: sums saturate at the largest number and do not wrap around to 0.
TEST(Statistics, SumsOfBytesStopAtTheEnd) {
  constexpr std::uint64_t kBytes = std::uint64_t{1} << 46;
  Header header;
  header.quantum_bytes = 4096;
  Kernel kernel;
  kernel.name = "k";
  kernel.accesses = {{1, {{0, kBytes / 4096, AccessMode::kReadWrite}}}};
  std::uint64_t given = 0;
  const TraceStatistics s = summarize(header, [&](Record& record) {
    if (given == 0) {
      record = ObjectAlloc{1, ObjectKind::kManaged, kBytes, 0, 0};
    } else if (given % 2 == 0) {
      record = kernel;
    } else {
      record = Memcpy{{1, 0}, {}, kBytes, CopyKind::kHostToDevice, 0, true, 0};
    }
    return given++ <= std::uint64_t{1} << 19;
  });
  EXPECT_EQ(s.totals.touched_bytes, UINT64_MAX);
  EXPECT_EQ(s.totals.written_bytes, UINT64_MAX);
  EXPECT_EQ(s.totals.phase_touched_bytes, UINT64_MAX);
  EXPECT_EQ(s.copied_bytes.at(static_cast<std::size_t>(CopyKind::kHostToDevice)), UINT64_MAX);
  EXPECT_EQ(s.largest_kernel_bytes, kBytes);
}

TEST(Statistics, CountsAndBytes) {
  const TraceStatistics s = summarize_records(program());
  EXPECT_EQ(s.records, 12u);
  EXPECT_EQ(s.records_by_type[0], 3u);
  EXPECT_EQ(s.totals.kernels, 2u);
  EXPECT_EQ(s.totals.duration_ns, 200);
  EXPECT_EQ(s.totals.touched_bytes, 20000u);
  EXPECT_EQ(s.totals.written_bytes, 2 * 5904u);
  EXPECT_EQ(s.totals.phase_touched_bytes, 10000u + 4096 + 10000);
  EXPECT_EQ(s.kernel_names, 2u);
  EXPECT_EQ(s.streams, 2u);
  EXPECT_EQ(s.kernels_with_phases, 1u);
  EXPECT_EQ(s.kernels_by_coverage[0], 1u);
  EXPECT_EQ(s.kernels_by_coverage[2], 1u);
  EXPECT_EQ(s.host_gap_ns, 17);
  EXPECT_EQ(s.objects, 3u);
  EXPECT_EQ(s.tensors, 1u);
  EXPECT_EQ(s.touched_objects, 1u);
  EXPECT_EQ(s.peak_live_bytes, 10500u);
  EXPECT_EQ(s.peak_managed_bytes, 10000u);
  EXPECT_EQ(s.peak_tensor_bytes, 64u);
  EXPECT_EQ(s.largest_kernel_bytes, 10000u);
  EXPECT_EQ(s.copied_bytes[0], 300u);
  EXPECT_EQ(s.set_bytes, 10u);
  ASSERT_EQ(s.iterations.size(), 1u);
  EXPECT_EQ(s.iterations[0].index, 4u);
  EXPECT_EQ(s.iterations[0].totals.kernels, 1u);
  EXPECT_TRUE(s.truncation.empty());
}

TEST(Statistics, Json) {
  const auto json = nlohmann::json::parse(statistics_json(summarize_records(program())));
  EXPECT_EQ(json["schema"], "uvmsim-trace-info-1");
  EXPECT_EQ(json["header"]["quantum_bytes"], 4096);
  EXPECT_EQ(json["records_by_type"]["kernel"], 2);
  EXPECT_EQ(json["totals"]["touched_bytes"], 20000);
  EXPECT_EQ(json["peak_managed_bytes"], 10000);
  EXPECT_EQ(json["iterations"][0]["index"], 4);
  EXPECT_EQ(json["copied_bytes"]["host_to_device"], 300);
  EXPECT_EQ(json["truncated"], false);
}

TEST(Statistics, Text) {
  const std::string text = statistics_text(summarize_records(program()));
  EXPECT_THAT(text, HasSubstr("program      p\n"));
  EXPECT_THAT(text, HasSubstr("2 kernels, 200 ns; they touch 19.53 KiB, write 11.53 KiB"));
  EXPECT_THAT(text, HasSubstr("iteration 4  1 kernels"));
}

TEST(Statistics, TimesThatDoNotFitStopAtTheLargest) {
  Kernel kernel;
  kernel.duration_ns = std::int64_t{1} << 61;
  EXPECT_EQ(summarize_records({kernel, kernel, kernel, kernel, kernel}).totals.duration_ns, INT64_MAX);
}

}  // namespace
}  // namespace uvmsim::trace
