// SPDX-License-Identifier: Apache-2.0
// A comparison: as tables for people, as JSON and as CSV.
#pragma once

#include <string>

#include "sim/compare/comparison.h"
#include "sim/compare/read_runs.h"

namespace uvmsim::compare {

struct TextOptions {
  bool all_metrics = false;  // false: is_main_metric() ones, with a line that says how many more changed
  bool tolerant = false;     // differences within a tolerance were left out: say so
};

// What is compared with what, then per pair of runs the metrics that changed, what is only on one side, and a last line
// that says how much changed, or "no difference".
std::string comparison_text(const Comparison& comparison, const RunSet& a, const RunSet& b, const TextOptions& options);

// One object, schema "uvmsim.comparison/1" (README.md): integers only, keys in a fixed order.
std::string comparison_json(const Comparison& comparison, const RunSet& a, const RunSet& b);

// A header, then one row per metric that changed. Runs on one side only have one row without a metric.
std::string comparison_csv(const Comparison& comparison);

}  // namespace uvmsim::compare
