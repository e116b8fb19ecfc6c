// SPDX-License-Identifier: Apache-2.0
// The command lines of `uvmsim run` and `uvmsim bounds`, checked and turned into plain values.
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/simulation.h"
#include "sim/report/heat_grid.h"
#include "sim/report/timeline_window.h"

namespace uvmsim::cli {

struct PolicyPair {
  PolicyChoice prefetch, evict;
};

struct RunArguments : PolicyChoices {
  bool help = false;
  bool explain_columns = false;
  std::string trace;                           // path, "-" = standard input
  std::string system;                          // name or path
  std::vector<std::string> settings;           // --set: "key=value"
  std::vector<std::uint64_t> osf_thousandths;  // empty: no --osf
  std::uint64_t capacity_bytes = 0;            // 0: not given
  std::uint64_t footprint_bytes = 0;           // 0: measured
  bool touched_footprint = false;              // what the factors divide is measured by touches
  bool hypothetical_capacity = false;          // the limit may be more than the GPU has
  layout::LayoutChoice layout;
  std::vector<std::string> plugins;
  std::uint64_t seed = 1;
  std::uint64_t seeds = 1;  // how many, from `seed` on
  bool include_host_gaps = true;
  std::uint64_t iterations = 0;             // 0: as recorded
  bool until_settled = false;               // `iterations` are the most
  bool replay_all = false;                  // also iterations that recur
  std::uint64_t time_scale_millionths = 0;  // 0: auto
  std::string recorded_on;                  // system with the GPU of the recording; empty: by the trace's header
  bool partial = false;
  bool unlimited_run = true;        // also run the baseline, to compare with
  bool bounds = false;              // how far results are from the best bound
  bool best_of_all = false;         // every pair of policies runs too, to compare with the fastest
  std::vector<PolicyPair> best_of;  // or these do
  bool verbose = false;
  std::optional<std::string> json, csv;  // path, "-" = standard output
  std::optional<std::string> timeline, profile;
  report::TimelineWindow timeline_window;
  report::ProfileGrid profile_grid;
};

// Throw InputError: what is wrong and what is allowed, in one line.
RunArguments parse_run_arguments(const std::vector<std::string>& arguments);
RunArguments parse_bounds_arguments(const std::vector<std::string>& arguments);

// What every command that replays programs takes: the machine, where memory lies, how the program runs. `command`:
// "run", for messages.
void add_program_options(boost::program_options::options_description& options);
RunArguments read_program_options(const std::string& command, const boost::program_options::variables_map& values);

std::string run_help();
std::string bounds_help();

}  // namespace uvmsim::cli
