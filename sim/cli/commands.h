// SPDX-License-Identifier: Apache-2.0
// The subcommands, one source file each. They take the arguments after their name, print to standard output, throw
// InputError for what the user got wrong, and return the exit code: 0 fine, 1 a check failed.
#pragma once

#include <string>
#include <vector>

namespace uvmsim::cli {

using Arguments = std::vector<std::string>;

int run_command(const Arguments& arguments);           // replay a trace on a system, under one or several limits
int bounds_command(const Arguments& arguments);        // how fast a program can be at best (sim/bounds)
int check_command(const Arguments& arguments);         // run the points of a baseline again; 3: a bug, not a change
int check_policy_command(const Arguments& arguments);  // does a policy keep its contract?
int compare_command(const Arguments& arguments);       // what changed between results; 1 only with --fail
int league_command(const Arguments& arguments);        // all policies against each other
int recommend_command(const Arguments& arguments);     // embedding tables by placement
int report_command(const Arguments& arguments);        // results, sweeps, profiles, leagues as one HTML page
int scenario_command(const Arguments& arguments);      // several programs at once on one server
int sweep_command(const Arguments& arguments);         // a grid of points: plan, run, status, collect
int sweep_slurm(const Arguments& arguments);           // its verb slurm
int trace_command(const Arguments& arguments);         // inspect, convert, check, import and generate traces
int systems_command(const Arguments& arguments);       // which systems there are, every figure with its source
int layouts_command(const Arguments& arguments);       // the layouts, their parameters, what a trace takes under each
int policies_command(const Arguments& arguments);      // which policies there are, what each can be set to
int validate_command(const Arguments& arguments);      // measured experiments against simulated; 1: beyond tolerances
int calibrate_command(const Arguments& arguments);     // fit a system's costs to measured experiments

// The verbs that have options of their own.
std::vector<std::string> league_verbs();
std::vector<std::string> sweep_verbs();
std::vector<std::string> trace_verbs();

}  // namespace uvmsim::cli
