// SPDX-License-Identifier: Apache-2.0
// A comparison as tables for people.
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

}  // namespace uvmsim::compare
