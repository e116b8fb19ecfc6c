// SPDX-License-Identifier: Apache-2.0
// Two processes on one H200, within its memory: measurements of tracer/ground_truth/two_processes.cu against the model.
// "Within ten percent" refers to the median of the measurements.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/config/load_system.h"
#include "sim/validate/campaign_comparison.h"
#include "sim/validate/campaign_program.h"
#include "tests/engine/hosted_programs.h"

namespace uvmsim {
namespace {

using nlohmann::json;

const json& measured() {
  static const json data =
      json::parse(std::ifstream(std::string(UVMSIM_SOURCE_DIR) + "/tests/ground_truth/data/two_processes_h200.json"));
  return data;
}
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}
const config::SystemConfig& h200() {
  static const config::SystemConfig system =
      config::load_system("h200-sxm-pcie5", {UVMSIM_SOURCE_DIR "/configs/systems"});
  return system;
}

void expect_close(const char* what, double simulated, double really, double percent = 10) {
  fmt::print("{}: measured {:.3f}, simulated {:.3f} ({:+.1f} %)\n", what, really, simulated,
             100 * (simulated - really) / really);
  EXPECT_NEAR(simulated, really, really * percent / 100) << what;
}

RunOptions own_memory() {
  RunOptions options;
  options.system = h200();
  options.limited = false;
  return options;
}

Program computing(std::int64_t duration_ns) {
  Program program;
  program.kernel("spin", duration_ns);
  program.sync();
  return program;
}

// The matrix products of the measurement: 6 of 4096 x 11008, read by 43 blocks of 256 threads.
validate::Campaign products(std::uint64_t processes) {
  validate::Campaign campaign;
  campaign.program = validate::CampaignProgramKind::kLayerProducts;
  campaign.array_bytes = std::uint64_t{4096} * 11008 * 4;
  campaign.arrays = 6;
  campaign.columns = 11008;
  campaign.processes = processes;
  const double resident_us = median(measured()["resident_products_alone"]["kernel_ns"]) / 1000;
  campaign.read_bytes_per_us =
      static_cast<std::uint64_t>(static_cast<double>(campaign.arrays * campaign.array_bytes) / resident_us);
  return campaign;
}

TEST(TwoProcesses, TheSystemFileSaysWhatWasMeasured) {
  const json& data = measured();
  const auto& costs = h200().runtime;
  EXPECT_EQ(costs.context_bytes, data["context_bytes"]);
  for (const int watchers : {2, 3}) {
    const json& seen = data[watchers == 2 ? "watchers" : "three_watchers"];
    const double turn = seen["turn_ns"], away = seen["away_ns"];
    expect_close("turn, us", static_cast<double>(costs.time_slice_ns) / 1000, turn / 1000, 0.1);
    expect_close("switch, us", static_cast<double>(costs.context_switch_ns) / 1000,
                 (away - (watchers - 1) * turn) / watchers / 1000, 1);
  }
}

TEST(TwoProcesses, KernelsOfKnownLengthTakeTurns) {
  const Program spin = computing(measured()["spin_alone_ns"]);
  const RunOptions options = own_memory();
  const auto results = run_together({hosted("a", spin, options, {0}), hosted("b", spin, options, {0})});
  for (std::size_t i = 0; i < 2; ++i) {
    expect_close("one of two kernels, ms", static_cast<double>(results[i].total.value) / 1e6,
                 measured()["two_spins_ns"][i].get<double>() / 1e6);
  }
}

TEST(TwoProcesses, AVisitorDoesNotWait) {
  const std::int64_t visit = measured()["spin_alone_ns"].get<std::int64_t>() / 200;
  const Program owner = computing(100000000), visitor = computing(visit);
  const RunOptions options = own_memory();
  const std::int64_t alone = owner.run(options).total.value;
  std::vector programs{hosted("owner", owner, options, {0}), hosted("visitor", visitor, options, {0})};
  programs[1].start = Nanoseconds(10370000);
  const auto results = run_together(programs);
  expect_close("the owner's absence, us", static_cast<double>(results[0].total.value - alone) / 1000,
               median(measured()["away_for_visits_ns"]) / 1000);
  expect_close("the visitor's call, us", static_cast<double>(results[1].total.value) / 1000,
               median(measured()["visits_ns"]) / 1000);
}

TEST(TwoProcesses, FaultsOfBothAreServedAsMeasured) {
  const auto kernels_of = [](const validate::Campaign& campaign) {
    const validate::CampaignRun run = validate::replay_campaign("products", campaign, h200());
    return static_cast<double>(*run.total.simulated[validate::figure::kTime]) / 1e6;
  };
  // `uvmsim validate` judges a single process; here it is the reference for the others. Every thread reads a row of its
  // own. For such scattered pages of the host the model is too fast since its costs are those of unobserved runs
  // (README.md, within memory), for one process as for two.
  constexpr double kScattered = 30;
  expect_close("products alone, ms", kernels_of(products(1)), median(measured()["products_alone"]["kernel_ns"]) / 1e6,
               kScattered);
  expect_close("products of two processes, ms", kernels_of(products(2)),
               median(measured()["two_products"]["kernel_ns"]) / 1e6, 20);
}

TEST(TwoProcesses, AProcessThatOnlyComputesTakesHalfTheTimeOfOneThatFaults) {
  const validate::Campaign campaign = products(1);
  const Program watcher = computing(1500000000);
  const RunOptions options = own_memory();
  std::vector programs{hosted("watcher", watcher, options, {0}), hosted("products", watcher, options, {0})};
  validate::CampaignProgram reader("products", campaign, h200().gpus.front());
  programs[1].header = reader.header();
  programs[1].source = [&](trace::Record& record) { return reader.next(record); };
  programs[1].options.layout = "none";
  programs[1].observer.reopen = [&] {
    const auto again = std::make_shared<validate::CampaignProgram>("products", campaign, h200().gpus.front());
    return [again](trace::Record& record) { return again->next(record); };
  };
  const auto results = run_together(programs);
  expect_close("products beside a watcher, ms", static_cast<double>(results[1].counters.kernel_ns) / 1e6,
               median(measured()["products_and_watcher"]["kernel_ns"]) / 1e6, 30);
}

}  // namespace
}  // namespace uvmsim
