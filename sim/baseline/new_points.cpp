// SPDX-License-Identifier: Apache-2.0
#include "sim/baseline/new_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/common/error.h"
#include "sim/common/wildcard.h"
#include "sim/compare/comparison.h"
#include "sim/formats/did_you_mean.h"
#include "sim/formats/json.h"
#include "sim/sweep/model_version.h"
#include "sim/sweep/plan.h"
#include "sim/sweep/point_files.h"

namespace uvmsim::baseline {
namespace {

compare::Metrics chosen(const compare::Metrics& all, const MetricChoice& patterns, const std::string& name) {
  compare::Metrics metrics;
  std::set<std::string> used;
  for (const auto& metric : all) {
    bool wanted = patterns.empty() && compare::is_main_metric(metric.first);
    for (const std::string& pattern : patterns) {
      if (!matches(pattern, metric.first)) continue;
      wanted = true;
      used.insert(pattern);
    }
    if (wanted) metrics.push_back(metric);
  }
  for (const std::string& pattern : patterns) {
    if (used.count(pattern) != 0) continue;
    std::vector<std::string> names;
    for (const auto& [known, value] : all) names.push_back(known);
    throw_input_error("{}: the run has no metric '{}'{}", name, pattern, did_you_mean(pattern, names));
  }
  return metrics;
}

}  // namespace

BaselinePoint new_point(const std::string& path, const sweep::Point& point, const RunAnswer& answer,
                        const MetricChoice& metrics) {
  BaselinePoint out;
  out.name = sweep::label(point);
  out.point = to_folder_of(path, point);
  record_plugins(out.point, answer.plugins);
  out.trace_sha256 = answer.trace_sha256;
  out.made_by = answer.made_by;
  out.expected = chosen(answer.metrics, metrics, out.name);
  return out;
}

void set_tolerances(std::vector<BaselinePoint>& points, const compare::Tolerances& tolerances,
                    const std::string& where) {
  check_used(tolerances, points, where);
  for (BaselinePoint& point : points) {
    for (const auto& given : tolerances.given()) {
      const auto& pattern = given.first;
      const bool has =
          std::ranges::any_of(point.expected, [&](const auto& metric) { return matches(pattern, metric.first); });
      if (has) point.tolerances.add(pattern, given.second, where);
    }
  }
}

SweepPoints points_of_sweep(const std::string& path, const std::string& folder, const MetricChoice& metrics) {
  const sweep::Plan plan = sweep::read_plan(folder);
  sweep::refuse_scenarios(plan, folder);
  const sweep::PointFiles files(folder);
  SweepPoints out;
  out.same_model = plan.model_version == sweep::model_version() && plan.policies_version == sweep::policies_version();
  std::size_t asked = 0, missing = 0;
  for (const sweep::PlannedPoint& planned : plan.points) {
    if (!planned.asked) continue;
    ++asked;
    const auto result = files.result(planned.id);
    if (!result) {
      ++missing;
      continue;
    }
    const std::string where = folder + ": point " + planned.id;
    const compare::RunView view = compare::view_of_result(parse_json(*result, where), where);
    out.points.push_back(new_point(
        path, planned.point,
        {"", false, *compare::find_named(view.identity, "trace"), made_by(view), view.metrics, 0, plugin_files(view)},
        metrics));
  }
  if (missing != 0) {
    throw_input_error("{}: {} of {} points have no result, so it is no baseline; `uvmsim sweep run {}` runs them",
                      folder, missing, asked, folder);
  }
  return out;
}

void add_points(Baseline& baseline, const std::string& path, std::vector<BaselinePoint> points) {
  std::set<std::string> names, inputs;
  for (const BaselinePoint& point : baseline.points) {
    names.insert(point.name);
    inputs.insert(sweep::to_json(point.point).dump());
  }
  for (BaselinePoint& point : points) {
    if (!inputs.insert(sweep::to_json(point.point).dump()).second) {
      throw_input_error("{}: has the point '{}' already; --update renews what it expects", path, point.name);
    }
    const std::string label = point.name;
    for (int number = 2; !names.insert(point.name).second; ++number) point.name = fmt::format("{} #{}", label, number);
    baseline.points.push_back(std::move(point));
  }
}

}  // namespace uvmsim::baseline
