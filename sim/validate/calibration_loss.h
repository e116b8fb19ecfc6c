// SPDX-License-Identifier: Apache-2.0
// The distance of a system from a set of experiments as one number; calibrate.h defines it.
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

  // Returns the loss; 0.1 means a deviation of a tenth in the trimmed mean over all kinds. Throws InputError when no
  // experiment has anything that is judged.
  double operator()(const config::SystemConfig& system) const;

  // The additional cost of a program's first fault, by the ordered experiments; `fallback` without any.
  std::uint64_t first_fault_ns(const config::SystemConfig& system, std::uint64_t fallback) const;

  bool empty() const { return items_.empty(); }

 private:
  struct Item {
    const Experiment* experiment;
    const std::string* path;
    Program program;  // the same for all costs; empty for a campaign
    Observation measured;
  };
  // Deviations by kind of measured quantity.
  using Terms = std::vector<std::pair<std::size_t, double>>;
  Terms terms_of(const Item& item, const config::SystemConfig& system) const;
  Observation simulate(const Item& item, const config::SystemConfig& system) const;

  std::vector<Item> items_;
};

}  // namespace uvmsim::validate
