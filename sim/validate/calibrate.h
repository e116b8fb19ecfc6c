// SPDX-License-Identifier: Apache-2.0
// Fits a system's costs to measured experiments.
//
// By default it fits what another machine with the same GPU differs in: one factor for all costs of the driver (a
// faster host makes all of them shorter), how its host sleeps and wakes, what the first fault costs, its link. The GPU
// stays as it is. (Fitted one by one, 32 costs followed the experiments closer and unseen programs less: README.md.)
// Parameters that are named are fitted one by one, after the factor.
//
// Deterministic: coordinate descent over integers, each parameter within its range and a factor of ten around the value
// it had, first the factor, then round by round one parameter after the other and the factor again, with smaller and
// smaller steps. What is minimised is the weighted mean over the kinds of experiments (ordered, parallel, streams,
// library calls, campaigns, and the durations of their copies) of a trimmed mean: of |ln(simulated / measured)| of each
// experiment's time, raw and quiet (quiet.h), and a quarter of the error in batches where those are not a matter of
// rules; of a campaign the time of each step and a quarter of the error in copies. The worst fifth of each kind does
// not count. A small cost of moving keeps parameters that the experiments do not tell apart where they were.
// `first_fault_ns` is not searched for but read off: the median of the ordered experiments. What the CPU and prefetch
// experiments show is not fitted.
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
  std::uint32_t holdout = 0;            // every so-manieth experiment is kept back; 0 = none. Repeats stay together
  std::uint32_t rounds = 7;             // of the descent, 1 to 20
  // Called before each evaluation with what is being done and how many were made; may throw to stop. May be empty.
  std::function<void(std::string_view step, std::uint64_t evaluations)> progress;
};

struct FittedParameter {
  std::string key;
  std::uint64_t before = 0, after = 0;
  bool alone = true;  // fitted by itself; else only with all costs of the driver
  // How much the mean error grows when the value is a tenth smaller or larger, in percentage points (mean of both).
  double sensitivity = 0;
  // Below it the experiments say nothing about the parameter.
  static constexpr double kNoSensitivity = 0.005;
  bool determined() const { return alone && sensitivity >= kNoSensitivity; }
};

struct Calibration {
  config::SystemConfig system;  // fitted, with sources that say so
  std::vector<FittedParameter> parameters;
  Validation before, after;                  // of the experiments that were fitted
  Validation holdout_before, holdout_after;  // of those kept back; without comparisons when none were
  double error_before = 0, error_after = 0;  // what was minimised, percent
  double holdout_error_before = 0, holdout_error_after = 0;
  double driver_factor = 1;  // that all costs of the driver were multiplied by, before those fitted by themselves
  std::uint64_t evaluations = 0;
};

// The keys that are fitted one by one when none are named; all costs of the driver move together beside them.
std::vector<std::string> calibration_parameters();

// `source` goes into the fitted parameters' sources: "FILE (sha256 ...)". Throws InputError for an unknown parameter,
// one that is no integer of costs, runtime, gmmu, host or host_links, for experiments that cannot be replayed (with
// file and line), and when none has a kernel to fit.
Calibration calibrate(const std::vector<ExperimentFile>& files, const config::SystemConfig& base,
                      const std::string& source, const CalibrationOptions& options = {});

// Tables for people: errors by class before and after, fitted and kept back; parameters old and new.
std::string calibration_text(const Calibration& calibration);

}  // namespace uvmsim::validate
