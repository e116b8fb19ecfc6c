// SPDX-License-Identifier: Apache-2.0
// A planned sweep: its folder holds what is to be computed, by whom, and what is done.
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
  Point point;               // of a scenario: common_point()
  std::string determinants;  // canonical JSON
  std::string id;            // its SHA-256
  bool asked = true;         // of the grid; false: there only for slowdowns to divide by (baseline_of)
  std::optional<scenario::ScenarioPoint> scenario{};
};

// For messages.
std::string label(const PlannedPoint& planned);

struct Plan {
  std::string spec;  // the sweep file's content, JSON on one line
  std::string uvmsim_version, model_version;
  std::vector<PlannedPoint> points;  // ids are unique
};

// Resolves every point of a sweep file, then the baselines that the grid lacks. Points that are equal are there once,
// where they came first. Throws InputError,
// beginning with the file's name.
Plan make_plan(const std::string& spec_path);
// The same of a spec that is read already; `name` begins the messages.
Plan make_plan(const Spec& spec, const std::string& name);

inline constexpr const char* kWholeResults[] = {"results.sqlite", "results.csv"};
inline constexpr const char* kPartialResults[] = {"results.partial.sqlite", "results.partial.csv"};

// Makes the folder; replaces the plan that is there, and touches no finished point. What was collected for another plan
// is removed, so that it is not taken for this one's. What it returns keeps others from replacing it. Throws
// InputError, also when another plan is being run or collected there.
PlanLock write_plan(const Plan& plan, const std::string& folder);

// Checks everything, as the folder may hold anything. Throws InputError naming the file and the line.
Plan read_plan(const std::string& folder);

// Throws InputError for a plan of scenarios, whose results are not those of single programs.
void refuse_scenarios(const Plan& plan, const std::string& folder);

// Throws InputError when the plan was made by another version of the model than this one: its ids would not be ours.
void check_versions(const Plan& plan, const std::string& folder);

// Every `count`-th point from the `index`-th, from 1.
struct Shard {
  std::uint64_t index = 1, count = 1;
  bool holds(std::uint64_t position) const { return position % count == index - 1; }
};

}  // namespace uvmsim::sweep
