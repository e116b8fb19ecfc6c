// SPDX-License-Identifier: Apache-2.0
// Checks which figures of a system were measured, fitted or taken from another system, and that the ranges of
// --uncertainty match the files.
#include "sim/config/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/config/load_system.h"
#include "tests/config/system_files.h"

namespace uvmsim::config {
namespace {

using Kind = Calibration::Kind;

const std::vector<std::string> kShippedSystems = {UVMSIM_SOURCE_DIR "/configs/systems"};
SystemConfig shipped(const std::string& name) { return load_system(name, kShippedSystems); }
Calibration of(const std::string& name) { return calibration_of(shipped(name), kShippedSystems); }

TEST(Calibration, FollowsFromTheSourcesOfTheCosts) {
  EXPECT_EQ(of("h200-sxm-pcie5").kind, Kind::kMeasured);
  EXPECT_EQ(of("hgx-h200-x2").kind, Kind::kSameGpu);
  for (const char* name : {"rtx4080-pcie4", "rtx5070ti-pcie5", "rtx5090-pcie5", "gtx1080ti-pcie3"}) {
    EXPECT_EQ(of(name).kind, Kind::kFitted) << name;
  }
  for (const char* name : {"a100-pcie-80g", "h100-sxm", "v100-pcie-32g", "titan-v-pcie3", "h200-sxm-pcie5+gmem"}) {
    const Kind kind = of(name).kind;
    EXPECT_TRUE(kind == Kind::kCarriedOver) << name;
  }
  EXPECT_EQ(calibration_text(of("a100-pcie-80g")), "carried over from h200-sxm-pcie5");
  EXPECT_EQ(calibration_text(of("hgx-h200-x2")), "carried over from h200-sxm-pcie5, the same GPU");
  SystemConfig changed = shipped("h200-sxm-pcie5");
  apply_override(changed, "costs.batch_ns=7000");
  EXPECT_EQ(calibration_of(changed, kShippedSystems).kind, Kind::kMeasured) << "an assignment is no other machine";
}

double factor(const std::vector<std::string>& settings, const std::string& key) {
  for (const std::string& setting : settings) {
    if (setting.starts_with(key + "=x")) return std::stod(setting.substr(key.size() + 2));
  }
  return 0;
}

// Returns the cost of a typical batch without copies: 256 raw faults on 120 pages of 12 blocks.
double batch_ns(const DriverCosts& c) {
  return static_cast<double>(c.batch_ns + 256 * c.raw_fault_ns + 120 * c.fault_entry_ns +
                             12 * (c.block_ns + c.map_block_ns + c.push_ns + c.after_push_ns) + 2000 * c.map_page_ns +
                             400 * c.unmap_host_page_ns + c.replay_ns + c.after_copies_ns);
}

// The widest range is the difference between the machines whose costs were fitted and the H200.
TEST(Calibration, RangesCoverWhatFittedMachinesDifferBy) {
  double least = 1, most = 1;
  for (const char* name : {"rtx4080-pcie4", "rtx5070ti-pcie5", "rtx5090-pcie5", "gtx1080ti-pcie3"}) {
    const double ratio = batch_ns(shipped(name).costs) / batch_ns(shipped("h200-sxm-pcie5").costs);
    least = std::min(least, ratio);
    most = std::max(most, ratio);
  }
  const Corners carried = corners_of(Kind::kCarriedOver);
  EXPECT_NEAR(factor(carried.fast, "costs.*"), least, 0.08) << "the mix of a batch differs by program";
  EXPECT_GE(factor(carried.slow, "costs.*"), most);
  for (const Kind kind : {Kind::kMeasured, Kind::kFitted}) {
    const Corners corners = corners_of(kind);
    const auto width = [](const Corners& c) { return factor(c.slow, "costs.*") / factor(c.fast, "costs.*"); };
    EXPECT_LT(width(corners), width(carried)) << "carried over is less sure";
    EXPECT_LT(factor(corners.fast, "costs.*"), 1);
    EXPECT_GT(factor(corners.fast, "host_links.*bytes_per_us"), 1);
  }
}

TEST(Calibration, CornersAreSettingsOfEverySystem) {
  for (const SystemFile& file : list_systems(kShippedSystems)) {
    for (const Kind kind : {Kind::kMeasured, Kind::kSameGpu, Kind::kFitted, Kind::kCarriedOver}) {
      for (const std::vector<std::string>& settings : {corners_of(kind).fast, corners_of(kind).slow}) {
        SystemConfig system = shipped(file.name);
        EXPECT_NO_THROW(apply_overrides(system, settings)) << file.name;
      }
    }
  }
}

}  // namespace
}  // namespace uvmsim::config
