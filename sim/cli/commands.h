// SPDX-License-Identifier: Apache-2.0
// The command lines of the subcommands, one source file each. Their functions print to standard output, throw
// InputError for what the user got wrong, and return the exit code: 0 fine, 1 a check failed.
#pragma once

#include "sim/cli/options.h"

namespace uvmsim::cli {

CommandLine run_command();           // replay a trace on a system, under one or several limits
CommandLine fit_command();           // which machines hold a program, how slow it is on the others
CommandLine why_command();           // where the time of one run goes
CommandLine cliff_command();         // at which factor a program gets slow at once
CommandLine advise_command();        // what to change in a program without changing its kernels
CommandLine bounds_command();        // how fast a program can be at best (sim/bounds)
CommandLine check_command();         // run the points of a baseline again; 3: a bug, not a change
CommandLine check_policy_command();  // whether a policy keeps its contract
CommandLine compare_command();       // what changed between results; 1 only with --fail
CommandLine league_command();        // all policies against each other
CommandLine recommend_command();     // embedding tables by placement
CommandLine report_command();        // results, sweeps, profiles, leagues as one HTML page
CommandLine scenario_command();      // several programs at once on one server
CommandLine sweep_command();         // a grid of points: plan, run, status, collect
CommandLine sweep_slurm();           // the verb slurm of sweep
CommandLine trace_command();         // inspect, convert, check, import and generate traces
CommandLine systems_command();       // which systems there are, every figure with its source
CommandLine layouts_command();       // the layouts, their parameters, what a trace takes under each
CommandLine policies_command();      // which policies there are, what each can be set to
CommandLine bpf_command();           // policies in the C for eBPF as plug-ins
CommandLine validate_command();      // measured experiments against simulated; 1: beyond tolerances
CommandLine calibrate_command();     // fit a system's costs to measured experiments

}  // namespace uvmsim::cli
