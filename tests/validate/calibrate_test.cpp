// SPDX-License-Identifier: Apache-2.0
// Closed loops: experiments simulated on a known system are fitted from another system.
#include "sim/validate/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/common/error.h"
#include "sim/config/load_system.h"
#include "sim/config/schema.h"
#include "tests/policy/message_of.h"
#include "tests/validate/calibration_experiments.h"

namespace uvmsim::validate {
namespace {

using ::testing::HasSubstr;

config::SystemConfig base_system() { return config::load_system("h200-sxm-pcie5"); }

std::vector<ExperimentFile> measured_on(const config::SystemConfig& truth) {
  return {parse_experiments(simulated_experiments(truth), "made.jsonl")};
}

const FittedParameter& find(const Calibration& calibration, const std::string& key) {
  for (const FittedParameter& parameter : calibration.parameters) {
    if (parameter.key == key) return parameter;
  }
  ADD_FAILURE() << key;
  return calibration.parameters.front();
}

void expect_near(const Calibration& calibration, const std::string& key, std::uint64_t truth, double percent) {
  const double fitted = static_cast<double>(find(calibration, key).after);
  EXPECT_NEAR(fitted, static_cast<double>(truth), static_cast<double>(truth) * percent / 100) << key;
}

TEST(Calibrate, FindsTheParametersThatWereChanged) {
  config::SystemConfig truth = base_system();
  truth.costs.batch_ns *= 2;
  truth.costs.after_copies_ns = 6000;
  truth.costs.first_fault_ns = 100000;
  truth.runtime.touch_ns = 1000;
  CalibrationOptions options;
  options.parameters = {"costs.batch_ns", "costs.after_copies_ns", "costs.first_fault_ns", "runtime.touch_ns"};
  const Calibration calibration = calibrate(measured_on(truth), base_system(), "made.jsonl", options);
  // Most experiments move data of the host, batch by batch: they determine the sum of these two costs, and hardly its
  // parts.
  const std::uint64_t sum =
      find(calibration, "costs.batch_ns").after + find(calibration, "costs.after_copies_ns").after;
  EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(truth.costs.batch_ns + truth.costs.after_copies_ns), 300);
  expect_near(calibration, "costs.first_fault_ns", truth.costs.first_fault_ns, 3);
  expect_near(calibration, "runtime.touch_ns", truth.runtime.touch_ns, 6);
  EXPECT_GT(calibration.error_before, 5);
  EXPECT_LT(calibration.error_after, 1);
  for (const FittedParameter& parameter : calibration.parameters) {
    EXPECT_TRUE(parameter.key == "costs.first_fault_ns" || parameter.determined()) << parameter.key;
  }
}

TEST(Calibrate, TheLinkIsFoundFromTheCopies) {
  config::SystemConfig truth = base_system();
  truth.host_links[0].host_to_device.bytes_per_us = 25000;
  truth.host_links[0].host_to_device.latency_ns = 1500;
  CalibrationOptions options;
  options.parameters = {"host_links.0.host_to_device.bytes_per_us", "host_links.0.host_to_device.latency_ns"};
  const Calibration calibration = calibrate(measured_on(truth), base_system(), "made.jsonl", options);
  expect_near(calibration, "host_links.0.host_to_device.bytes_per_us", 25000, 6);
  expect_near(calibration, "host_links.0.host_to_device.latency_ns", 1500, 10);
}

TEST(Calibrate, AFasterHostIsFoundAsAWhole) {
  config::SystemConfig truth = base_system();
  for (config::Parameter& parameter : config::parameters(truth)) {
    if (!parameter.key.starts_with("costs.")) continue;
    config::store(parameter, std::get<std::uint64_t>(config::value_of(parameter)) * 7 / 10);
  }
  CalibrationOptions options;
  options.rounds = 3;
  const Calibration calibration = calibrate(measured_on(truth), base_system(), "made.jsonl", options);
  EXPECT_GT(calibration.error_before, 8);
  EXPECT_LT(calibration.error_after, 2);
  EXPECT_NEAR(calibration.driver_factor, 0.7, 0.05);
  EXPECT_THAT(calibration.system.sources.at("costs.cpu_fault_ns"), HasSubstr("all costs of the driver x 0."));
  EXPECT_EQ(calibration.after.comparisons.size(), calibration.before.comparisons.size());
}

// Machines differ in their host, not in their GPU: whatever the experiments contain, the GPU's parameters stay.
TEST(Calibrate, TheGpuStaysAsItIsByDefault) {
  config::SystemConfig truth = base_system();
  truth.runtime.load_ns *= 3;
  truth.gmmu.fault_ps *= 3;
  CalibrationOptions options;
  options.rounds = 1;
  Calibration calibration = calibrate(measured_on(truth), base_system(), "made.jsonl", options);
  config::SystemConfig base = base_system();
  for (const config::Parameter& parameter : config::parameters(base)) {
    if (parameter.key.starts_with("costs.") || parameter.key.starts_with("host_links.")) continue;
    for (const config::Parameter& fitted : config::parameters(calibration.system)) {
      if (fitted.key != parameter.key) continue;
      EXPECT_EQ(config::value_of(fitted), config::value_of(parameter)) << fitted.key;
    }
  }
}

TEST(Calibrate, WhatIsRightStays) {
  CalibrationOptions options;
  options.parameters = {"costs.batch_ns", "costs.replay_ns", "costs.cpu_fault_ns"};
  const Calibration calibration = calibrate(measured_on(base_system()), base_system(), "made.jsonl", options);
  for (const FittedParameter& parameter : calibration.parameters) EXPECT_EQ(parameter.after, parameter.before);
  EXPECT_EQ(calibration.error_before, calibration.error_after);
  // These experiments have no CPU fault, so the parameter is not determined and its source stays.
  EXPECT_FALSE(find(calibration, "costs.cpu_fault_ns").determined());
  EXPECT_EQ(calibration.system.sources.at("costs.cpu_fault_ns"), base_system().sources.at("costs.cpu_fault_ns"));
  EXPECT_THAT(calibration.system.sources.at("costs.batch_ns"), HasSubstr("calibrated from made.jsonl, 14 experiments"));
}

TEST(Calibrate, IsDeterministic) {
  config::SystemConfig truth = base_system();
  truth.costs.replay_ns = 5000;
  CalibrationOptions options;
  options.rounds = 2;
  options.holdout = 3;
  const std::vector<ExperimentFile> files = measured_on(truth);
  const Calibration first = calibrate(files, base_system(), "f", options);
  const Calibration second = calibrate(files, base_system(), "f", options);
  EXPECT_EQ(calibration_text(first), calibration_text(second));
  EXPECT_EQ(first.evaluations, second.evaluations);
}

TEST(Calibrate, HoldsBackWholeExperimentsWithTheirRepeats) {
  config::SystemConfig truth = base_system();
  std::vector<ExperimentFile> files = measured_on(truth);
  const std::size_t count = files[0].experiments.size();
  for (std::size_t i = 0; i < count; ++i) {
    files[0].experiments.push_back(files[0].experiments[i]);
    files[0].experiments.back().name += "_rep2";
  }
  CalibrationOptions options;
  options.parameters = {"costs.batch_ns"};
  options.rounds = 1;
  options.holdout = 2;
  const Calibration calibration = calibrate(files, base_system(), "f", options);
  EXPECT_EQ(calibration.before.comparisons.size(), count);
  EXPECT_EQ(calibration.holdout_before.comparisons.size(), count);
  const auto name_in = [](const Validation& validation, const std::string& name) {
    return std::any_of(validation.comparisons.begin(), validation.comparisons.end(),
                       [&](const Comparison& comparison) { return comparison.name == name; });
  };
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& name = files[0].experiments[i].name;
    EXPECT_EQ(name_in(calibration.before, name), name_in(calibration.before, name + "_rep2")) << name;
    EXPECT_NE(name_in(calibration.before, name), name_in(calibration.holdout_before, name)) << name;
  }
  EXPECT_THAT(calibration_text(calibration), HasSubstr("kept back: 14"));
}

TEST(Calibrate, RefusesWhatCannotBeFitted) {
  const std::vector<ExperimentFile> files = measured_on(base_system());
  const auto about = [&](const CalibrationOptions& options) {
    return message_of([&] { calibrate(files, base_system(), "f", options); });
  };
  const auto with_parameter = [](const std::string& key) {
    CalibrationOptions options;
    options.parameters = {key};
    return options;
  };
  EXPECT_THAT(about(with_parameter("costs.batch")), HasSubstr("did you mean 'costs.batch_ns'?"));
  EXPECT_THAT(about(with_parameter("gpus.0.sm_count")), HasSubstr("cannot be fitted"));
  EXPECT_THAT(about(with_parameter("driver.fault_batch_count")), HasSubstr("cannot be fitted"));
  EXPECT_THAT(about(with_parameter("host.large_pages")), HasSubstr("cannot be fitted"));
  EXPECT_THAT(about(with_parameter("")), HasSubstr("cannot be fitted"));
  CalibrationOptions twice = with_parameter("costs.batch_ns");
  twice.parameters.push_back("costs.batch_ns");
  EXPECT_THAT(about(twice), HasSubstr("named twice"));
  CalibrationOptions none;
  none.only = "nosuch*";
  EXPECT_THAT(about(none), HasSubstr("no experiment matches 'nosuch*'"));
  CalibrationOptions all;
  all.holdout = 1;
  EXPECT_THAT(about(all), HasSubstr("leaves none to fit"));
  CalibrationOptions rounds;
  rounds.rounds = 0;
  EXPECT_THAT(about(rounds), HasSubstr("allowed: 1 to 20"));
  const std::string prefetch =
      R"({"name":"p","mode":"prefetch","bytes":4096,"va_offset_in_2m":0,"advise":"none","host_populated":[],)"
      R"("gpu_resident":[],"touches":[],"events":[]})";
  EXPECT_THAT(message_of([&] { calibrate({parse_experiments(prefetch, "p")}, base_system(), "f"); }),
              HasSubstr("no experiment has a kernel"));
}

}  // namespace
}  // namespace uvmsim::validate
