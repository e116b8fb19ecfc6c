// SPDX-License-Identifier: Apache-2.0
// Validates whole files of experiments: replays each, compares, and summarises by class.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "sim/common/in_parallel.h"
#include "sim/config/system.h"
#include "sim/validate/compare.h"
#include "sim/validate/experiment.h"

namespace uvmsim::validate {

// Errors of the experiments of a class in percent; 0 where the class does not judge them or nothing was measured.
struct Spread {
  double median = 0, worst = 0;
  std::string worst_name;  // the experiment's
};

// One class of experiments.
struct ClassSummary {
  ExperimentClass experiment_class = ExperimentClass::kOrdered;
  std::size_t experiments = 0;
  std::size_t exact = 0;                                       // all counts are equal
  std::size_t judged = 0;                                      // the others are only shown
  std::size_t within = 0;                                      // of the judged ones: within all tolerances
  std::size_t quiet_within = 0;                                // the same by quiet time
  std::array<std::size_t, kTimeBasisNames.size()> by_basis{};  // experiments by the basis of their judged times
  Spread time, quiet, batches, bytes;
  std::vector<Failure> failures;        // of the class as a whole: medians
  std::vector<Failure> quiet_failures;  // the same with the quiet time
};

struct ValidationOptions {
  Tolerances tolerances;
  std::string only = "*";  // names to replay; * and ? are wildcards
  bool observed = false;   // judges by the times of observed runs, even if others were measured
  std::size_t threads = available_cpus();
  // Called before each experiment, by one thread at a time, with the number already begun and the total; may be empty.
  // If it throws, no further experiment begins.
  std::function<void(std::size_t begun, std::size_t count)> progress;
};

struct Validation {
  std::vector<std::string> files;
  std::string system;
  Tolerances tolerances;
  std::vector<Comparison> comparisons;  // in the order of the files
  std::vector<ClassSummary> classes;    // the classes that occur, in the order of ExperimentClass
  std::vector<std::string> warnings;

  // Returns whether every experiment and every class is within the tolerances.
  bool within() const;
};

// Throws InputError when `only` matches nothing or an experiment cannot be replayed (with file and line).
Validation validate(const std::vector<ExperimentFile>& files, const config::SystemConfig& system,
                    const ValidationOptions& options = {});

}  // namespace uvmsim::validate
