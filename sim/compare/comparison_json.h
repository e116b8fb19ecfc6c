// SPDX-License-Identifier: Apache-2.0
// A comparison for programs: as JSON and as CSV.
#pragma once

#include <string>

#include "sim/compare/comparison.h"
#include "sim/compare/read_runs.h"

namespace uvmsim::compare {

// One object, schema "uvmsim.comparison/1" (README.md): integers only, keys in a fixed order.
std::string comparison_json(const Comparison& comparison, const RunSet& a, const RunSet& b);

// A header, then one row per metric that changed. Runs on one side only have one row without a metric.
std::string comparison_csv(const Comparison& comparison);

}  // namespace uvmsim::compare
