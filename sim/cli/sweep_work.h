// SPDX-License-Identifier: Apache-2.0
// Running a plan and collecting its results, with messages for people: common to `uvmsim sweep` and `uvmsim league`.
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

// Returns --jobs, by default one per core.
std::size_t jobs_of(const Values& values);
// Reads --jobs and --seconds-per-point.
sweep::SweepRun work_of(const Values& values);
// Returns --output. If it is missing, `command` starts the message.
std::string output_of(const Values& values, const std::string& command);

// Computes the missing points, with a bar, and says how many failed. Returns 0, 1 if points failed, 130 after Ctrl-C.
int run_plan(const sweep::Plan& plan, const std::string& folder, sweep::SweepRun run);

// Writes the database and the CSV file, and prints their names. Returns the exit code: 0, or 1 if points are missing
// and `partial` does not allow that.
int collect_plan(const sweep::Plan& plan, const std::string& folder, bool partial);

void print_failures(const sweep::SweepStatus& status);

}  // namespace uvmsim::cli
