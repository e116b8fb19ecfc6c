// SPDX-License-Identifier: Apache-2.0
// Compares the figures of h200-sxm-pcie5 with the measurements to which they were fitted (configs/measurements).
// Figures of allocation calls are in tests/layout/call_costs_test.cpp.
#include <gtest/gtest.h>

#include <fstream>

#include "sim/config/load_system.h"
#include "tests/config/system_files.h"

namespace uvmsim::config {
namespace {

const std::string kMeasurements = UVMSIM_SOURCE_DIR "/configs/measurements/";

// Returns the lines of a table after the one that starts with `header`, as numbers, while they have that many columns.
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

// Checks the bandwidth. The fixed time of each call is not part of the link, whose fixed times are those of the
// driver's copies.
TEST_F(MeasuredH200, ExplicitCopies) {
  constexpr double kCallNs = 5000;
  for (const auto& row : table("costs_h200.txt", "size_kb h2d_GBps", 4)) {
    const double bytes = 1024 * row[0];
    const auto expect_near = [&](const LinkDirectionConfig& way, double measured_ns) {
      const double wire_ns = predicted_ns(0, way.bytes_per_us, bytes);
      EXPECT_GT(measured_ns, 0.97 * wire_ns) << row[0] << " KB";
      EXPECT_LT(measured_ns, 1.03 * wire_ns + kCallNs) << row[0] << " KB";
    };
    expect_near(link_.host_to_device, bytes / row[1]);
    expect_near(link_.device_to_host, bytes / row[2]);
  }
  const auto largest = table("costs_h200.txt", "size_kb h2d_GBps", 4).back();
  EXPECT_NEAR(static_cast<double>(link_.both_ways_bytes_per_us), 1000 * largest[3], 10);
}

// A listener measured these, and it stamps each run. It stamps copies to the host faster than `listener.copy_ns` says.
TEST_F(MeasuredH200, RunsOfTheDriver) {
  std::ifstream stream(kMeasurements + "runs_h200.txt");
  std::string header;
  std::getline(stream, header);
  std::string direction, run;
  double bytes = 0, count = 0, median_ns = 0;
  int rows = 0;
  while (stream >> direction >> run >> bytes >> count >> median_ns) {
    const bool down = direction == "htod";
    const LinkDirectionConfig& way = down ? link_.host_to_device : link_.device_to_host;
    const double fixed_ns = static_cast<double>(run == "first" ? way.latency_ns : way.run_ns);
    const double stamp_ns = down ? static_cast<double>(config_.listener.copy_ns) : 0;
    const double part = predicted_ns(fixed_ns + stamp_ns, way.bytes_per_us, bytes) / median_ns;
    EXPECT_LT(part, 1.06) << direction << " " << run << " " << bytes;
    if (down) {
      EXPECT_GT(part, 0.94) << run << " " << bytes;
    }
    ++rows;
  }
  EXPECT_GT(rows, 80);
}

}  // namespace
}  // namespace uvmsim::config
