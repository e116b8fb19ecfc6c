// SPDX-License-Identifier: Apache-2.0
// A planned sweep: its folder holds the points to compute, the versions of the code that planned them, and the finished
// results.
//
//   DIR/sweep.json           the sweep file, the versions that planned it, how many points and their SHA-256
//   DIR/points.jsonl         one point per line, in plan order: {"asked": ..., "determinants": ..., "id": ...,
//                            "point": ...}, of a scenario "scenario" instead of "point"
//   DIR/points/ID.json       a finished point (point_files.h)
//   DIR/points/ID.error.json a failed one
//   DIR/results.sqlite, .csv all of them together (collect.h); DIR/results.partial.* when some are missing
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/sweep/point.h"
#include "sim/sweep/point_lock.h"
#include "sim/sweep/scenario_point.h"
#include "sim/sweep/spec.h"

namespace uvmsim::sweep {

inline constexpr const char* kSweepSchema = "uvmsim.sweep/2";  // of a planned sweep and of its database

struct PlannedPoint {
  Point point;               // of a scenario: what common_point() returns
  std::string determinants;  // canonical JSON
  std::string id;            // its SHA-256
  bool asked = true;         // false: not in the grid, but needed as the baseline of a slowdown (baseline_of)
  std::optional<scenario::ScenarioPoint> scenario{};
};

// Names the point in messages.
std::string label(const PlannedPoint& planned);

struct Plan {
  std::string spec;  // the sweep file's content, JSON on one line
  std::string uvmsim_version, model_version, policies_version;
  std::vector<PlannedPoint> points;  // ids are unique
};

// Resolves every point of a sweep file, then adds the baselines that the grid lacks. Of equal points only the first is
// kept. Throws InputError, whose message begins with the file's name.
Plan make_plan(const std::string& spec_path);
// Plans a spec that has been read already; messages begin with `name`.
Plan make_plan(const Spec& spec, const std::string& name);

inline constexpr const char* kWholeResults[] = {"results.sqlite", "results.csv"};
inline constexpr const char* kPartialResults[] = {"results.partial.sqlite", "results.partial.csv"};

// Creates the folder, or replaces the plan in it; finished points are kept. Results that were collected for another
// plan are removed, so that they are not mistaken for this plan's. The returned lock keeps other processes from
// replacing the plan. Throws InputError, also when another plan is being run or collected there.
PlanLock write_plan(const Plan& plan, const std::string& folder);

// Checks everything, as the folder may come from an untrusted source. Throws InputError naming the file and the line.
Plan read_plan(const std::string& folder);

// Throws InputError if the plan is of scenarios, whose results differ from those of single programs.
void refuse_scenarios(const Plan& plan, const std::string& folder);

// Throws InputError when another version of the model or of the built-in policies made the plan: its ids could differ
// from the ones computed here.
void check_versions(const Plan& plan, const std::string& folder);

// One of `count` shares of the points: every `count`-th point from the `index`-th on, which counts from 1.
struct Shard {
  std::uint64_t index = 1, count = 1;
  bool holds(std::uint64_t position) const { return position % count == index - 1; }
};

}  // namespace uvmsim::sweep
