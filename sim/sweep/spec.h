// SPDX-License-Identifier: Apache-2.0
// A sweep as its user wrote it: SPEC.json, a grid of runs or a list of grids. configs/sweep.schema.json describes it to
// editors, README.md to readers.
#pragma once

#include <string>
#include <vector>

#include "sim/sweep/point.h"
#include "sim/sweep/scenario_point.h"

namespace uvmsim::sweep {

struct Spec {
  std::string description;
  std::string json;           // the file's content, on one line
  std::vector<Point> points;  // every combination, in order, with absolute paths; points may repeat
  std::vector<scenario::ScenarioPoint> scenarios;  // used instead of points
  std::vector<Point> baselines;  // the baselines of these points' slowdowns; they run too if the grid lacks them
};

inline constexpr std::uint64_t kLargestSweep = 1'000'000;  // points

// Checks form and values, and that patterns match files; reads scenarios. Names of systems, layouts and policies are
// looked up when points are resolved. Throws InputError, one line: the file, the JSON pointer of the key, what is
// allowed.
Spec read_spec(const std::string& path);

// The JSON schema of sweep files: configs/sweep.schema.json. Ends in a newline.
std::string spec_schema();

}  // namespace uvmsim::sweep
