// SPDX-License-Identifier: Apache-2.0
// How far a system is from a set of experiments, in one number. calibrate.h says what counts.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/config/system.h"
#include "sim/validate/experiment.h"
#include "sim/validate/experiment_program.h"
#include "sim/validate/observation.h"

namespace uvmsim::validate {

class CalibrationLoss {
 public:
  // Throws InputError naming file and line for an experiment that cannot be replayed.
  CalibrationLoss(const std::vector<ExperimentFile>& files, const config::SystemConfig& base);

  // 0.1 means: off by a tenth in the trimmed mean over all kinds. Throws InputError when no experiment has anything
  // that is judged.
  double operator()(const config::SystemConfig& system) const;

  // What the first fault of a program costs beyond any other, by the ordered experiments; `fallback` without any.
  std::uint64_t first_fault_ns(const config::SystemConfig& system, std::uint64_t fallback) const;

  bool empty() const { return items_.empty(); }

 private:
  struct Item {
    const Experiment* experiment;
    const std::string* path;
    Program program;  // the same for all costs; empty for a campaign
    Observation measured;
  };
  // Deviations by kind of what is measured.
  using Terms = std::vector<std::pair<std::size_t, double>>;
  Terms terms_of(const Item& item, const config::SystemConfig& system) const;
  Observation simulate(const Item& item, const config::SystemConfig& system) const;

  std::vector<Item> items_;
};

}  // namespace uvmsim::validate
