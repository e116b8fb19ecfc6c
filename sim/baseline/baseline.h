// SPDX-License-Identifier: Apache-2.0
// A baseline: a set of runs with their expected results. README.md describes the file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/compare/run_view.h"
#include "sim/compare/tolerance.h"
#include "sim/sweep/point.h"

namespace uvmsim::baseline {

inline constexpr const char* kBaselineSchema = "uvmsim.baseline/1";

// Properties of a point that may change although its inputs keep their names.
struct MadeBy {
  std::string uvmsim_version, commit, model_version, system_sha256;
  // Policies and layout with every parameter, given or by default: "prefetch" and "prefetch.threshold".
  compare::NamedTexts choices = {};
  bool operator==(const MadeBy&) const = default;
};
MadeBy made_by(const compare::RunView& run);

// The plug-ins that a run used: their SHA-256 by file name.
using PluginFiles = std::map<std::string, std::string>;
PluginFiles plugin_files(const compare::RunView& run);

struct BaselinePoint {
  std::string name;          // unique within the baseline
  sweep::Point point;        // paths as in the file: relative to its folder
  std::string trace_sha256;  // of the trace that gave `expected`
  MadeBy made_by;            // the other conditions of `expected`; empty in an older file
  compare::Metrics expected;
  compare::Tolerances tolerances = {};  // of this point; they take precedence over the baseline's
};

struct Baseline {
  std::string description;  // one line, may be empty
  compare::Tolerances tolerances;
  std::vector<BaselinePoint> points;

  compare::Tolerance tolerance(const BaselinePoint& point, std::string_view metric) const;
};

// Throws InputError that names the file, the JSON pointer of the key and the allowed values: not JSON, unknown or
// missing key, wrong type, invalid tolerance, a tolerance without a metric, two points of one name, no point.
Baseline read_baseline(const std::string& path);

// Throws InputError that starts with `where` for a tolerance that no expected metric of the points has.
void check_used(const compare::Tolerances& tolerances, const std::vector<BaselinePoint>& points,
                const std::string& where);

// Formats the file with a newline at the end: two-space JSON, keys in a fixed order, inputs without their defaults.
// Reading and writing it again gives the same bytes.
std::string baseline_text(const Baseline& baseline);

// Convert the point's paths so that they work from the current folder, and back. A name that is found in a search path
// (systems) stays as it is.
sweep::Point from_folder_of(const std::string& baseline_path, sweep::Point point);
sweep::Point to_folder_of(const std::string& baseline_path, sweep::Point point);

// Gives the plug-ins of the point the hashes of the used files, and removes unused ones.
void record_plugins(sweep::Point& point, const PluginFiles& used);

}  // namespace uvmsim::baseline
