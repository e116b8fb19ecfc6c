// SPDX-License-Identifier: Apache-2.0
// A point: everything that determines one run, as the user named it. `uvmsim run`, `sweep` and `check` all run points.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/simulation.h"
#include "sim/formats/json_value.h"

namespace uvmsim::sweep {

struct Point : PolicyChoices {
  std::string trace;                  // path; "-" = standard input, for `uvmsim run` only
  bool partial = false;               // uses the complete part of a truncated trace
  std::string layout = "recorded";    // as `--layout`
  std::string system;                 // name or path
  std::vector<std::string> settings;  // `--set`: "key=value", in order
  // At most one of the two limits is not 0. If both are 0, the limit is the GPU's own memory.
  std::uint64_t osf_thousandths = 0;
  std::uint64_t capacity_bytes = 0;
  std::uint64_t footprint_bytes = 0;   // the dividend of the factor; 0: measured under the layout
  bool touched_footprint = false;      // the factor divides the touched footprint (layout/footprint.h)
  bool hypothetical_capacity = false;  // the limit may exceed the GPU's memory; without a limit the footprint fits
  std::vector<std::string> plugins;    // names of shared libraries (policy/plugin.h)
  std::uint64_t seed = 1;
  bool include_host_gaps = true;
  // The exact number of marked iterations to run. 0: until the run has settled, at most kMostIterations (run_length.h);
  // with `as_recorded`, as many as were recorded.
  std::uint64_t iterations = 0;
  bool as_recorded = false;
  bool until_settled = false;               // stops once the run has settled; `iterations` is then the maximum
  std::uint64_t time_scale_millionths = 0;  // 0: auto
  std::string recorded_on;                  // system with the GPU of the recording; empty: by the trace's header
  // Also replays recurring iterations, which are otherwise counted without a replay.
  bool replay_all = false;
  bool bounds = false;  // also computes the lower bounds, and the run's distance from the best one
};

// The point that slowdowns divide by: the same program and system under the driver's own policies, with the GPU's whole
// memory. If the program does not fit into it, fitting_baseline() (run_point.h) gives another baseline.
Point baseline_of(const Point& point);

// Throws InputError for `touched_footprint` with `footprint_bytes`. `where` starts the message.
void check_footprint(const Point& point, const std::string& where);

// Throws InputError for `until_settled` or a number of iterations with `as_recorded`. `where` (the option or key)
// starts the message.
void check_iterations(const Point& point, const std::string& where);

// "none", "OSF 1.25" or "capacity 4.00 MiB"
std::string limit_text(const Point& point);
// Formats a policy as the command line takes it: "tree:threshold=51".
std::string policy_text(const PolicyChoice& policy);
// Puts text into single quotes for a shell.
std::string shell_quoted(std::string_view text);
// Quotes text if a shell would not take it as one word.
std::string shell_word(const std::string& text);
// Names a point in messages: "gpt2.uvmt h200-sxm-pcie5 recorded OSF 1.25 tree lrm seed 1".
std::string label(const Point& point);

// The command that runs this point alone: "uvmsim run gpt2.uvmt --system h200-sxm-pcie5 --osf 1.25 --prefetch
// tree:threshold=75". Files are named without their folders, so that no folder gets into a result.
std::string command_text(const Point& point);

// Writes every member under its own name, no limit as null, a policy as {"name": ..., "parameters": {...}}. Members
// with their default are left out if they are bounds, `replay_all`, touched footprint, `as_recorded`, `until_settled`,
// hypothetical capacity, or the driver's policy of a slot that is not always named. Dumped, the keys are in
// alphabetical order: equal points give equal bytes.
nlohmann::json to_json(const Point& point);

// Reads what to_json() writes. Missing members keep their default, except `trace` and `system`, which are required.
// Throws InputError for an unknown key, a wrong type or a value out of range.
Point point_from_json(const JsonValue& object);

}  // namespace uvmsim::sweep
