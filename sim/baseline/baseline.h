// SPDX-License-Identifier: Apache-2.0
// A baseline: runs, and what was found when they were last looked at. README.md describes the file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/compare/run_view.h"
#include "sim/compare/tolerance.h"
#include "sim/sweep/point.h"

namespace uvmsim::baseline {

inline constexpr const char* kBaselineSchema = "uvmsim.baseline/1";

// What may change under a point although its inputs have the same names.
struct MadeBy {
  std::string uvmsim_version, commit, model_version, system_sha256;
  bool operator==(const MadeBy&) const = default;
};
MadeBy made_by(const compare::RunView& run);

// The plug-ins that a run used: their SHA-256 by file name.
using PluginFiles = std::map<std::string, std::string>;
PluginFiles plugin_files(const compare::RunView& run);

struct BaselinePoint {
  std::string name;          // unique within the baseline
  sweep::Point point;        // paths as the file has them: relative to its folder
  std::string trace_sha256;  // of the trace that `expected` was found with
  MadeBy made_by;            // what else it was found with; empty in an older file
  compare::Metrics expected;
  compare::Tolerances tolerances;  // of this point; before those of the baseline
};

struct Baseline {
  std::string description;  // one line, may be empty
  compare::Tolerances tolerances;
  std::vector<BaselinePoint> points;

  compare::Tolerance tolerance(const BaselinePoint& point, std::string_view metric) const;
};

// Throws InputError that names the file, the JSON pointer of the key and what is allowed: not JSON, unknown or missing
// key, wrong type, no tolerance, a tolerance that no metric has, two points of one name, no point.
Baseline read_baseline(const std::string& path);

// Throws InputError, beginning with `where`, for a tolerance of the whole baseline that no expected metric has.
void check_tolerances(const Baseline& baseline, const std::string& where);

// The file, ending in a newline: two-space JSON, keys in a fixed order, inputs that have their default left out. What
// read_baseline() read and baseline_text() wrote reads the same again.
std::string baseline_text(const Baseline& baseline);

// The point with paths that work from the current folder, and the reverse. What a name finds in a search path (systems)
// stays as it is.
sweep::Point from_folder_of(const std::string& baseline_path, sweep::Point point);
sweep::Point to_folder_of(const std::string& baseline_path, sweep::Point point);

// The plug-ins of the point with the hashes of what was used, and without those that were not.
void record_plugins(sweep::Point& point, const PluginFiles& used);

}  // namespace uvmsim::baseline
