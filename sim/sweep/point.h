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
  bool partial = false;               // of a trace that is cut off, use what is whole
  std::string layout = "recorded";    // as `--layout`
  std::string system;                 // name or path
  std::vector<std::string> settings;  // `--set`: "key=value", in order
  // The limit: at most one of the two is not 0; both 0: none, the GPU's own memory.
  std::uint64_t osf_thousandths = 0;
  std::uint64_t capacity_bytes = 0;
  std::uint64_t footprint_bytes = 0;   // what the factor divides; 0: measured under the layout
  bool touched_footprint = false;      // the factor divides what is touched (layout/footprint.h)
  bool hypothetical_capacity = false;  // the limit may be more than the GPU has
  std::vector<std::string> plugins;    // names of shared libraries (policy/plugin.h)
  std::uint64_t seed = 1;
  bool include_host_gaps = true;
  std::uint64_t iterations = 0;             // 0: as recorded
  bool until_settled = false;               // fewer, if the run has settled before: `iterations` are the most
  std::uint64_t time_scale_millionths = 0;  // 0: auto
  std::string recorded_on;                  // system with the GPU of the recording; empty: by the trace's header
  bool replay_all = false;                  // also iterations that recur, which are else counted without a replay
  bool bounds = false;                      // also the lower bounds, and how far the run is from the best one
};

// What slowdowns divide by, whatever the policies: the same program and system under the driver's own policies, with
// the GPU's whole memory.
Point baseline_of(const Point& point);

// Throws InputError for `touched_footprint` with `footprint_bytes`. `where` starts the message.
void check_footprint(const Point& point, const std::string& where);

// Throws InputError for `until_settled` without a number of iterations, and with bounds, which need to know the length.
// `where` (the option or key) starts the message.
void check_until_settled(const Point& point, const std::string& where);

// "none", "OSF 1.25" or "capacity 4.00 MiB"
std::string limit_text(const Point& point);
// "tree:threshold=51", as the command line takes it
std::string policy_text(const PolicyChoice& policy);
// In single quotes, for a shell.
std::string shell_quoted(std::string_view text);
// As a shell takes it as one word: quoted where it must be.
std::string shell_word(const std::string& text);
// "gpt2.uvmt h200-sxm-pcie5 recorded OSF 1.25 tree lrm seed 1": for messages.
std::string label(const Point& point);

// "uvmsim run gpt2.uvmt --system h200-sxm-pcie5 --osf 1.25 --prefetch tree:threshold=75": what runs this point alone.
// Files go by their last names, so that no folder gets into a result.
std::string command_text(const Point& point);

// Every member under its own name, no limit as null, a policy as {"name": ..., "parameters": {...}}; no bounds, no
// `replay_all`, no touched footprint, no `until_settled`, no hypothetical capacity and the driver's policies of slots
// that are not always named are left out. Dumped, its keys are in alphabetical order: equal points give equal bytes.
nlohmann::json to_json(const Point& point);

// The reverse. Members that are missing keep their default, but `trace` and `system` must be there. Throws InputError
// for an unknown key, a wrong type or a value out of range.
Point point_from_json(const JsonValue& object);

}  // namespace uvmsim::sweep
