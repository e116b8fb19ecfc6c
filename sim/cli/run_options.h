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
  sweep::Point shared;  // what all runs of the command line have in common, without a limit and without bounds
  std::vector<std::uint64_t> osf_thousandths;  // empty: no --osf
  std::uint64_t capacity_bytes = 0;            // 0: not given
  std::uint64_t seeds = 1;                     // how many, from that of `shared` on
  bool unlimited_run = true;                   // also run the baseline, to compare with
  bool bounds = false;                         // how far results are from the best bound
  bool uncertainty = false;                    // also on the fastest and the slowest machine it may stand for
  bool best_of_all = false;                    // every pair of policies runs too, to compare with the fastest
  std::vector<PolicyPair> best_of;             // or these do
  bool verbose = false;
  std::optional<std::string> json, csv;  // path, "-" = standard output
  std::optional<std::string> timeline, profile;
  report::TimelineWindow timeline_window;
  report::ProfileGrid profile_grid;
};

std::vector<Option> run_options();
std::vector<Option> bounds_options();
// What every command that replays programs takes: the machine, where memory lies, how the program runs.
std::vector<Option> program_options();
// Those of them that say how a program runs, for commands that choose machines and limits themselves.
std::vector<Option> replay_options();

// One option per policy slot.
std::vector<Option> policy_options();

// Throw InputError: what is wrong and what is allowed, in one line.
RunArguments read_run_options(const Values& values);
RunArguments read_bounds_options(const Values& values);
// `command`: "league", for messages.
RunArguments read_program_options(const std::string& command, const Values& values);
// All of program_options() but the system, as far as they are options of the command.
void read_replay_options(const Values& values, RunArguments& run);

// The policies of policy_options() that are given.
void read_policies(const Values& values, RunArguments& run);

// One point per limit, in the order given, and seed; without any limit, the one without. The seed varies fastest.
std::vector<sweep::Point> points_of(const RunArguments& run);

}  // namespace uvmsim::cli
