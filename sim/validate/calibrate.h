// SPDX-License-Identifier: Apache-2.0
// Fits a system's costs to measured experiments.
//
// By default it fits the properties in which machines with the same GPU differ: one factor for all costs of the driver
// (a faster host shortens all of them), how the host sleeps and wakes, the cost of the first fault, and the link. The
// GPU's parameters stay. (Fitted one by one, 32 costs followed the experiments more closely and unseen programs less:
// README.md.) Named parameters are fitted one by one, after the factor.
//
// The fit is deterministic: coordinate descent over integers, each parameter within its range and a factor of ten
// around its old value; first the factor, then round by round one parameter after the other and the factor again, with
// smaller and smaller steps. The loss is the weighted mean over the kinds of experiments (ordered, parallel, streams,
// library calls, campaigns, and the durations of their copies) of a trimmed mean: of |ln(simulated / measured)| of each
// experiment's time, raw and quiet (quiet.h), and a quarter of the error in batches where the driver's rules alone do
// not determine them; of a campaign the time of each step and a quarter of the error in copies. The worst fifth of each
// kind does not count. A small penalty on changes keeps parameters in place that the experiments cannot distinguish.
// `first_fault_ns` is not searched for but computed: the median of the ordered experiments. CPU and prefetch
// experiments are not used.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/system.h"
#include "sim/validate/experiment.h"
#include "sim/validate/validation.h"

namespace uvmsim::validate {

struct CalibrationOptions {
  std::vector<std::string> parameters;  // dotted keys; empty: calibration_parameters()
  std::string only = "*";               // names of experiments; * and ? are wildcards
  std::uint32_t holdout = 0;            // every so-manieth experiment is held out; 0 = none. Repeats stay together
  std::uint32_t rounds = 7;             // of the descent, 1 to 20
  // Called before each evaluation with the current step and the number of evaluations so far; may throw to stop. May be
  // empty.
  std::function<void(std::string_view step, std::uint64_t evaluations)> progress;
};

struct FittedParameter {
  std::string key;
  std::uint64_t before = 0, after = 0;
  bool alone = true;  // fitted by itself; otherwise only together with all costs of the driver
  // The growth of the mean error when the value is a tenth smaller or larger, in percentage points (mean of both).
  double sensitivity = 0;
  // Below this value the experiments do not determine the parameter.
  static constexpr double kNoSensitivity = 0.005;
  bool determined() const { return alone && sensitivity >= kNoSensitivity; }
};

struct Calibration {
  config::SystemConfig system;  // fitted, with sources that state it
  std::vector<FittedParameter> parameters;
  Validation before, after;                  // on the fitted experiments
  Validation holdout_before, holdout_after;  // on the held-out experiments; without comparisons when there are none
  double error_before = 0, error_after = 0;  // the loss, percent
  double holdout_error_before = 0, holdout_error_after = 0;
  double driver_factor = 1;  // factor of all costs of the driver, before those that are fitted by themselves
  std::uint64_t evaluations = 0;
};

// The keys that are fitted one by one when none are named; all costs of the driver are scaled together in addition.
std::vector<std::string> calibration_parameters();

// `source` goes into the fitted parameters' sources: "FILE (sha256 ...)". Throws InputError for an unknown parameter,
// one that is not an integer of costs, runtime, gmmu, host or host_links, for experiments that cannot be replayed (with
// file and line), and when none has a kernel to fit.
Calibration calibrate(const std::vector<ExperimentFile>& files, const config::SystemConfig& base,
                      const std::string& source, const CalibrationOptions& options = {});

// Formats tables: errors by class before and after, fitted and held out; old and new parameters.
std::string calibration_text(const Calibration& calibration);

}  // namespace uvmsim::validate
