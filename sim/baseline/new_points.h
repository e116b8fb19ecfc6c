// SPDX-License-Identifier: Apache-2.0
// Creates points for a baseline from a sweep that ran, or from new runs.
#pragma once

#include <string>
#include <vector>

#include "sim/baseline/baseline.h"
#include "sim/baseline/run_points.h"

namespace uvmsim::baseline {

// Names or patterns of expected metrics; empty: those main ones (compare::is_main_metric) that a run has.
using MetricChoice = std::vector<std::string>;

// Gives each point the tolerances of its metrics. Throws InputError that starts with `where` for a tolerance without a
// metric in these points.
void set_tolerances(std::vector<BaselinePoint>& points, const compare::Tolerances& tolerances,
                    const std::string& where);

// Creates a point of the baseline at `path`, named by its label, that expects the metrics of `answer`. Throws
// InputError when a pattern of `metrics` matches nothing.
BaselinePoint new_point(const std::string& path, const sweep::Point& point, const RunAnswer& answer,
                        const MetricChoice& metrics);

struct SweepPoints {
  std::vector<BaselinePoint> points;
  bool same_model = true;  // this version of the model and its policies computed the sweep
};
// Creates every point of a sweep folder, in its order. Throws InputError if a point has no result, because a partial
// sweep is no baseline.
SweepPoints points_of_sweep(const std::string& path, const std::string& folder, const MetricChoice& metrics);

// Appends points. A label that occurs twice among the new points gets a number. Throws InputError if a point with the
// same inputs exists already.
void add_points(Baseline& baseline, const std::string& path, std::vector<BaselinePoint> points);

}  // namespace uvmsim::baseline
