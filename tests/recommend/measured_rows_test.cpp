// SPDX-License-Identifier: Apache-2.0
// Random rows of managed tables that are migrated by faults, measured on H200s of two machines and simulated: the same
// rows in the same order as configs/measurements/row_gather.cu reads them. The measured results are in the same folder.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "sim/common/random.h"
#include "sim/config/load_system.h"
#include "sim/engine/simulation.h"

namespace uvmsim {
namespace {

constexpr std::uint64_t kRows = 20000, kRowBytes = 512;
constexpr std::uint64_t kWarps = 132 * 8 * 8;  // warps of the kernel; warp w reads ids w, w + kWarps, ...

// Returns the milliseconds of each batch of rows of a table on the host, without oversubscription.
std::vector<double> simulated(std::uint64_t table_bytes) {
  std::vector<trace::Record> records;
  records.push_back(trace::ObjectAlloc{1, trace::ObjectKind::kManaged, table_bytes, 0, 0});
  records.push_back(trace::Prefetch{1, 0, table_bytes, -1, 0, 0});
  records.push_back(trace::Sync{});
  for (std::uint64_t batch = 0; batch < 5; ++batch) {
    std::vector<std::uint64_t> rows;
    for (std::uint64_t i = 0; i < kRows; ++i) {
      rows.push_back(Random(batch * kRows + i).next() % (table_bytes / kRowBytes));
    }
    trace::Kernel kernel;
    kernel.name = "rows";
    kernel.grid.x = kWarps;
    kernel.block.x = 1;
    kernel.duration_ns = 10000;
    kernel.distribution = trace::Distribution::kThreadChunk;
    kernel.bytes_per_thread_access = kRowBytes;
    for (std::uint64_t warp = 0; warp < kWarps; ++warp) {
      for (std::uint64_t i = warp; i < kRows; i += kWarps) {
        kernel.touches.push_back({0, rows[i], trace::AccessMode::kRead});
      }
    }
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    trace::ObjectAccess& access = kernel.accesses.emplace_back();
    access.object = 1;
    for (const std::uint64_t row : rows) access.extents.push_back({row, 1, trace::AccessMode::kRead});
    records.push_back(trace::Range{trace::RangeKind::kIterationBegin, "", batch});
    records.push_back(std::move(kernel));
    records.push_back(trace::Sync{});
    records.push_back(trace::Range{trace::RangeKind::kIterationEnd, "", batch});
  }
  RunOptions options;
  options.system = config::load_system("h200-sxm-pcie5");
  options.limited = false;
  std::size_t at = 0;
  const RunResult result = simulate(
      {},
      [&](trace::Record& record) {
        if (at == records.size()) return false;
        record = records[at++];
        return true;
      },
      options);
  std::vector<double> times;
  for (const IterationResult& one : result.iterations) {
    times.push_back(static_cast<double>((one.end - one.begin).value) / 1e6);
  }
  return times;
}

class MeasuredRows : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Machines, MeasuredRows, ::testing::Values("row_gather_h200", "row_gather_h200_second"));

TEST_P(MeasuredRows, FaultOverAsFast) {
  std::ifstream file(fmt::format(UVMSIM_SOURCE_DIR "/configs/measurements/{}.txt", GetParam()));
  std::vector<double> times;
  int compared = 0;
  for (std::string line; std::getline(file, line);) {
    unsigned gib = 0, batch = 0;
    double ms = 0;
    if (std::sscanf(line.c_str(), "faults read: table %u GiB, batch %u of 20000 rows of 512 bytes: %lf ms", &gib,
                    &batch, &ms) != 3) {
      continue;
    }
    if (batch == 0) times = simulated(std::uint64_t{gib} << 30);
    ASSERT_LT(batch, times.size());
    fmt::print("{:>2} GiB, batch {}: {:8.3f} ms measured, {:8.3f} simulated\n", gib, batch, ms, times[batch]);
    if (gib == 16) {
      // The first batch takes 334 and 301 ms on the two machines, without a listener. A block (one of some 250 of a
      // batch, of which 64 KB are fetched from the host) takes 12.8 us there and 15 to 18 us here, because the costs of
      // a block were fitted to batches of few blocks.
      EXPECT_NEAR(times[batch] / ms, 1, 0.4) << line;
    } else if (ms > 1) {
      EXPECT_NEAR(times[batch] / ms, 1, 0.35) << line;  // measured 262 and 337 ms, and 43 and 51 ms
    }
    ++compared;
  }
  EXPECT_EQ(compared, 10);
}

}  // namespace
}  // namespace uvmsim
