// SPDX-License-Identifier: Apache-2.0
// What `uvmsim sweep` and `uvmsim league` share: running a plan and collecting its results, as people see it.
#pragma once

#include <boost/program_options.hpp>
#include <chrono>
#include <cstddef>
#include <string>

#include "sim/sweep/collect.h"
#include "sim/sweep/plan.h"

namespace uvmsim::cli {

// Values of --jobs (one per core where it is not given) and --output. Throw InputError; `command` starts the message.
std::size_t jobs_of(const boost::program_options::variables_map& values);
// How a plan is computed: --jobs and --seconds-per-point (0: as long as it takes).
struct Work {
  std::size_t jobs = 1;
  std::chrono::seconds point_limit{0};
};
Work work_of(const boost::program_options::variables_map& values);
std::string output_of(const boost::program_options::variables_map& values, const std::string& command);

// Computes what is missing, with a bar. The exit code: 0, 1 when points failed, 130 after Ctrl-C, and says how many.
int run_plan(const sweep::Plan& plan, const std::string& folder, sweep::Shard shard, Work work);

// Writes the database and the CSV file, and prints their names. The exit code: 0, or 1 when points are missing and
// `partial` does not allow that.
int collect_plan(const sweep::Plan& plan, const std::string& folder, bool partial);

// One line per failed point.
void print_failures(const sweep::SweepStatus& status);

}  // namespace uvmsim::cli
