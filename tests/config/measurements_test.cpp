// SPDX-License-Identifier: Apache-2.0
// The figures of h200-sxm-pcie5 against the measurements that they were fitted to (configs/measurements). Those of
// allocation calls: tests/layout/call_costs_test.cpp.
#include <gtest/gtest.h>

#include <fstream>

#include "sim/config/load_system.h"
#include "tests/config/system_files.h"

namespace uvmsim::config {
namespace {

const std::string kMeasurements = UVMSIM_SOURCE_DIR "/configs/measurements/";

// The lines of a table after the one that starts with `header`, as numbers, while they have that many columns.
std::vector<std::vector<double>> table(const std::string& file, const std::string& header, std::size_t columns) {
  std::ifstream stream(kMeasurements + file);
  std::vector<std::vector<double>> rows;
  bool inside = false;
  for (std::string line; std::getline(stream, line);) {
    if (!inside) {
      inside = line.starts_with(header);
      continue;
    }
    std::istringstream words(line);
    std::vector<double> row;
    for (double value = 0; words >> value;) row.push_back(value);
    if (row.size() != columns) break;
    rows.push_back(row);
  }
  EXPECT_FALSE(rows.empty()) << file << ": " << header;
  return rows;
}

double predicted_ns(double fixed_ns, std::uint64_t bytes_per_us, double bytes) {
  return fixed_ns + 1000 * bytes / static_cast<double>(bytes_per_us);
}

class MeasuredH200 : public testing::Test {
 protected:
  const SystemConfig config_ = load_system("h200-sxm-pcie5", {UVMSIM_SOURCE_DIR "/configs/systems"});
  const LinkConfig& link_ = config_.host_links.at(0);
};

TEST_F(MeasuredH200, ExplicitCopies) {
  for (const auto& row : table("costs_h200.txt", "size_kb h2d_GBps", 4)) {
    const double bytes = 1024 * row[0];
    const auto& down = link_.host_to_device;
    EXPECT_NEAR(predicted_ns(static_cast<double>(down.latency_ns), down.bytes_per_us, bytes) / (bytes / row[1]), 1,
                0.06)
        << "host to device, " << row[0] << " KB";
    if (row[0] >= 1020) {  // small copies to the host start later than the driver's own, which the figure describes
      const auto& up = link_.device_to_host;
      EXPECT_NEAR(predicted_ns(static_cast<double>(up.latency_ns), up.bytes_per_us, bytes) / (bytes / row[2]), 1, 0.03)
          << "device to host, " << row[0] << " KB";
    }
  }
  const auto largest = table("costs_h200.txt", "size_kb h2d_GBps", 4).back();
  EXPECT_NEAR(static_cast<double>(link_.both_ways_bytes_per_us), 1000 * largest[3], 10);
}

TEST_F(MeasuredH200, RunsOfTheDriver) {
  std::ifstream stream(kMeasurements + "runs_h200.txt");
  std::string header;
  std::getline(stream, header);
  std::string direction, run;
  double bytes = 0, count = 0, median_ns = 0;
  int rows = 0;
  while (stream >> direction >> run >> bytes >> count >> median_ns) {
    const LinkDirectionConfig& way = direction == "htod" ? link_.host_to_device : link_.device_to_host;
    const std::uint64_t fixed_ns = run == "first" ? way.latency_ns : way.run_ns;
    EXPECT_NEAR(predicted_ns(static_cast<double>(fixed_ns), way.bytes_per_us, bytes) / median_ns, 1, 0.06)
        << direction << " " << run << " " << bytes;
    ++rows;
  }
  EXPECT_GT(rows, 80);
}

}  // namespace
}  // namespace uvmsim::config
