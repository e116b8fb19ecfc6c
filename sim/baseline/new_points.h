// SPDX-License-Identifier: Apache-2.0
// Points for a baseline: from a sweep that ran, or from runs made for it.
#pragma once

#include <string>
#include <vector>

#include "sim/baseline/baseline.h"
#include "sim/baseline/run_points.h"

namespace uvmsim::baseline {

// Names or patterns of metrics to expect; empty: the main ones (compare::is_main_metric) that a run has.
using MetricChoice = std::vector<std::string>;

// A point of the baseline at `path`, named by its label, expecting what `answer` holds. Throws InputError when a
// pattern of `metrics` matches nothing.
BaselinePoint new_point(const std::string& path, const sweep::Point& point, const RunAnswer& answer,
                        const MetricChoice& metrics);

struct SweepPoints {
  std::vector<BaselinePoint> points;
  bool same_model = true;  // the sweep was computed by this version of the model
};
// Every point of a sweep folder, in its order. Throws InputError when one has no result: a partial sweep is no
// baseline.
SweepPoints points_of_sweep(const std::string& path, const std::string& folder, const MetricChoice& metrics);

// Adds points behind those that are there. A label that another of the new points has, too, gets a number. Throws
// InputError when one of the same inputs is there already.
void add_points(Baseline& baseline, const std::string& path, std::vector<BaselinePoint> points);

}  // namespace uvmsim::baseline
