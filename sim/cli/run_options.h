// SPDX-License-Identifier: Apache-2.0
// The command lines of `uvmsim run` and `uvmsim bounds`, checked and turned into plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/options.h"
#include "sim/report/heat_grid.h"
#include "sim/report/timeline_window.h"
#include "sim/sweep/point.h"

namespace uvmsim::cli {

struct PolicyPair {
  PolicyChoice prefetch, evict;
};

struct RunArguments {
  sweep::Point shared;                         // what all runs share: a point without a limit and without bounds
  std::vector<std::uint64_t> osf_thousandths;  // empty: no --osf
  std::uint64_t capacity_bytes = 0;            // 0: not given
  std::uint64_t seeds = 1;                     // number of seeds, from that of `shared` on
  bool unlimited_run = true;                   // also run without a limit, as the baseline of slowdowns
  bool bounds = false;                         // compare results with the best lower bound
  bool uncertainty = false;         // also run on the fastest and the slowest machine within the system's uncertainty
  bool best_of_all = false;         // every pair of policies runs too, to compare with the fastest
  std::vector<PolicyPair> best_of;  // only these pairs run
  bool verbose = false;
  std::optional<std::string> json, csv;  // path, "-" = standard output
  std::optional<std::string> timeline, profile;
  report::TimelineWindow timeline_window;
  report::ProfileGrid profile_grid;
};

std::vector<Option> run_options();
std::vector<Option> bounds_options();
// Returns the options of every command that replays programs: the machine, where memory lies, how the program runs.
std::vector<Option> program_options();
// Returns those options that say how a program runs, for commands that choose machines and limits themselves.
std::vector<Option> replay_options();

// Returns one option per policy slot.
std::vector<Option> policy_options();

// Throw InputError, one line that says what is wrong and what is allowed.
RunArguments read_run_options(const Values& values);
RunArguments read_bounds_options(const Values& values);
// `command` names the command in messages: "league".
RunArguments read_program_options(const std::string& command, const Values& values);
// Reads program_options() except the system; skips options that the command does not have.
void read_replay_options(const Values& values, RunArguments& run);

// Reads the policies of policy_options() that are given.
void read_policies(const Values& values, RunArguments& run);

// Returns one point per limit, in the order given, and seed; without limits, one per seed. The seed varies fastest.
std::vector<sweep::Point> points_of(const RunArguments& run);

}  // namespace uvmsim::cli
