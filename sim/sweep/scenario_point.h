// SPDX-License-Identifier: Apache-2.0
// A point of a sweep of scenarios: several programs at once on one server, under other policies or limits than the
// scenario's file says.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/sweep/axes.h"
#include "sim/sweep/point.h"
#include "sim/sweep/resolve.h"

namespace uvmsim::scenario {

struct ScenarioPoint {
  std::string file;                // the scenario that it comes from
  nlohmann::ordered_json content;  // as a scenario file, with paths that do not depend on the folder
  bool alone = true;               // also runs each program alone
};

// Appends every combination of the axes with the scenarios' own values, in order; the limit varies fastest. Messages
// point to `object`, which the axes were read from. Throws InputError for an invalid scenario, and when there are more
// than sweep::kLargestSweep points.
void append_scenario_points(const sweep::Axes& axes, const JsonValue& object, std::vector<ScenarioPoint>& points);

// Returns the properties that all programs have in common, with the scenario's file as the trace and the shared limit:
// for names, costs and groups of a sweep.
sweep::Point common_point(const ScenarioPoint& point);

// Names a point in messages: "shared_two_trainings.json h200-sxm-pcie5 OSF 1.3 tree quota:0=50 schedule priority:0=1
// seed 1". `common` is its common_point().
std::string label(const ScenarioPoint& point, const sweep::Point& common);

struct ResolvedScenario {
  ScenarioPoint point;       // with only the plug-ins that it uses
  std::string determinants;  // canonical JSON: the determinants of each program, and how the programs share the server
  std::string id;            // SHA-256 of the determinants
};
// Throws InputError as Resolver::resolve() does.
ResolvedScenario resolve(const ScenarioPoint& point, sweep::Resolver& resolver);

// Returns the result as "uvmsim.scenario/1". Frees all traces but those of the scenario.
std::string run(const ScenarioPoint& point, sweep::Resolver& resolver);

nlohmann::ordered_json to_json(const ScenarioPoint& point);
// Reads what to_json() writes; throws InputError.
ScenarioPoint scenario_point_from_json(const JsonValue& object);

}  // namespace uvmsim::scenario
