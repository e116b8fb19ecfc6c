// SPDX-License-Identifier: Apache-2.0
// What `uvmsim sweep` and `uvmsim league` share: running a plan and collecting its results, as people see it.
#pragma once

#include <cstddef>
#include <string>

#include "sim/cli/options.h"
#include "sim/sweep/collect.h"
#include "sim/sweep/plan.h"
#include "sim/sweep/run_sweep.h"

namespace uvmsim::cli {

inline constexpr Option kJobs{"jobs,j", "N", "processes that compute, default one per core"};
inline constexpr Option kPointLimit{"seconds-per-point", "N",
                                    "a point that takes longer by the clock fails, default: none does"};

// --jobs; one per core where it is not given.
std::size_t jobs_of(const Values& values);
// How a plan is computed: --jobs and --seconds-per-point.
sweep::SweepRun work_of(const Values& values);
// --output. `command` starts the message where it is missing.
std::string output_of(const Values& values, const std::string& command);

// Computes what is missing, with a bar. The exit code: 0, 1 when points failed, 130 after Ctrl-C, and says how many.
int run_plan(const sweep::Plan& plan, const std::string& folder, sweep::SweepRun run);

// Writes the database and the CSV file, and prints their names. The exit code: 0, or 1 when points are missing and
// `partial` does not allow that.
int collect_plan(const sweep::Plan& plan, const std::string& folder, bool partial);

// One line per failed point.
void print_failures(const sweep::SweepStatus& status);

}  // namespace uvmsim::cli
