// SPDX-License-Identifier: Apache-2.0
// The command lines of the subcommands, one source file each. Their functions print to standard output, throw
// InputError for what the user got wrong, and return the exit code: 0 fine, 1 a check failed.
#pragma once

#include "sim/cli/options.h"

namespace uvmsim::cli {

CommandLine run_command();           // replay a trace on a system, under one or several limits
CommandLine fit_command();           // which machines hold a program, how slow it is on the others
CommandLine why_command();           // shows where the time of one run goes
CommandLine cliff_command();         // finds the oversubscription factor at which a program suddenly gets slow
CommandLine advise_command();        // suggests changes to a program that leave its kernels alone
CommandLine bounds_command();        // how fast a program can be at best (sim/bounds)
CommandLine check_command();         // run the points of a baseline again; 3: a bug, not a change
CommandLine check_policy_command();  // whether a policy keeps its contract
CommandLine compare_command();       // shows differences between results; exit code 1 only with --fail
CommandLine league_command();        // all policies against each other
CommandLine recommend_command();     // embedding tables by placement
CommandLine report_command();        // results, sweeps, profiles, leagues as one HTML page
CommandLine scenario_command();      // several programs at once on one server
CommandLine sweep_command();         // a grid of points: plan, run, status, collect
CommandLine sweep_slurm();           // the verb slurm of sweep
CommandLine trace_command();         // inspect, convert, check, import and generate traces
CommandLine systems_command();       // lists the systems, every figure with its source
CommandLine layouts_command();       // lists the layouts, their parameters, and the footprint of a trace under each
CommandLine policies_command();      // lists the policies and their parameters
CommandLine bpf_command();           // policies in the C for eBPF as plug-ins
CommandLine validate_command();      // compares measured experiments with simulated ones; 1: beyond tolerances
CommandLine calibrate_command();     // fit a system's costs to measured experiments

}  // namespace uvmsim::cli
