// SPDX-License-Identifier: Apache-2.0
#include "sim/baseline/check.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/common/error.h"
#include "sim/common/wildcard.h"
#include "sim/policy/plugin.h"

namespace uvmsim::baseline {
namespace {

namespace fs = std::filesystem;

std::string file_name(const std::string& plugin) {
  return fs::path(policy::plugin_name(plugin).path).filename().string();
}

// The plug-ins of the command line replace those with the same file name, and are loaded for all points.
std::vector<std::string> plugins_of(const sweep::Point& point, const std::vector<std::string>& given) {
  std::vector<std::string> plugins = given;
  for (const std::string& own : point.plugins) {
    const bool replaced = std::ranges::find(given, file_name(own), file_name) != given.end();
    if (!replaced) plugins.push_back(own);
  }
  return plugins;
}

std::vector<const BaselinePoint*> chosen_points(const Baseline& baseline, const std::string& path,
                                                const std::string& only) {
  std::vector<const BaselinePoint*> chosen;
  for (const BaselinePoint& point : baseline.points) {
    if (matches(only, point.name)) chosen.push_back(&point);
  }
  if (chosen.empty()) {
    throw_input_error("{}: no point matches '{}'; the first one of {} is '{}'", path, only, baseline.points.size(),
                      baseline.points.front().name);
  }
  return chosen;
}

// Returns a text that is equal for points that differ only in their seed.
std::string group_of(const BaselinePoint& point) {
  sweep::Point any_seed = point.point;
  any_seed.seed = 0;
  return sweep::to_json(any_seed).dump();
}

PointVerdict judge(const Baseline& baseline, const compare::SeedRanges& seeds, const BaselinePoint& point,
                   RunAnswer answer) {
  PointVerdict verdict{point.name, point.trace_sha256, point.made_by, std::move(answer), {}};
  if (!verdict.answer.error.empty()) return verdict;
  for (const auto& [name, expected] : point.expected) {
    MetricVerdict metric{.name = name, .expected = expected, .tolerance = baseline.tolerance(point, name)};
    if (const auto* found = compare::find_named(verdict.answer.metrics, name)) metric.found = *found;
    if (const auto* range = seeds.of(group_of(point), name)) metric.seeds = *range;
    metric.within = metric.found && metric.tolerance.allows(expected, *metric.found);
    verdict.metrics.push_back(std::move(metric));
  }
  return verdict;
}

}  // namespace

bool PointVerdict::passed() const {
  return answer.error.empty() && std::ranges::all_of(metrics, &MetricVerdict::passed);
}

bool PointVerdict::has_noise() const { return std::ranges::any_of(metrics, &MetricVerdict::is_noise); }

std::size_t CheckResult::failures() const {
  return static_cast<std::size_t>(std::ranges::count(verdicts, false, &PointVerdict::passed));
}

std::size_t CheckResult::noisy() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      verdicts, [](const PointVerdict& verdict) { return verdict.passed() && verdict.has_noise(); }));
}

bool CheckResult::has_bug() const {
  return std::ranges::any_of(verdicts, [](const PointVerdict& verdict) { return verdict.answer.is_bug; });
}

std::vector<RunRequest> requests_of(const Baseline& baseline, const std::string& path, const CheckOptions& options) {
  std::vector<RunRequest> requests;
  for (const BaselinePoint* point : chosen_points(baseline, path, options.only)) {
    RunRequest request{from_folder_of(path, point->point), options.any_trace ? "" : point->trace_sha256};
    request.point.plugins = plugins_of(request.point, options.plugins);
    requests.push_back(std::move(request));
  }
  return requests;
}

CheckResult check(const Baseline& baseline, const std::string& path, const CheckOptions& options,
                  const RunProgress& progress) {
  const std::vector<RunRequest> requests = requests_of(baseline, path, options);
  std::vector<RunAnswer> answers = run_points(requests, options.jobs, progress);
  CheckResult result{path, {}};
  const std::vector<const BaselinePoint*> points = chosen_points(baseline, path, options.only);
  compare::SeedRanges seeds;
  for (const BaselinePoint& point : baseline.points) seeds.add(group_of(point), point.expected);
  for (std::size_t i = 0; i < points.size(); ++i) {
    result.verdicts.push_back(judge(baseline, seeds, *points[i], std::move(answers[i])));
  }
  return result;
}

Baseline updated(const Baseline& baseline, const CheckResult& result) {
  Baseline out = baseline;
  for (const PointVerdict& verdict : result.verdicts) {
    if (!verdict.answer.error.empty()) {
      throw_input_error("{}: not updated: {}: {}", result.path, verdict.name, verdict.answer.error);
    }
    const auto point = std::ranges::find(out.points, verdict.name, &BaselinePoint::name);
    point->trace_sha256 = verdict.answer.trace_sha256;
    point->made_by = verdict.answer.made_by;
    record_plugins(point->point, verdict.answer.plugins);
    for (std::size_t i = 0; i < point->expected.size(); ++i) {
      const MetricVerdict& metric = verdict.metrics[i];
      if (!metric.found) {
        throw_input_error("{}: not updated: {}: the run has no metric '{}'", result.path, verdict.name, metric.name);
      }
      point->expected[i].second = *metric.found;
    }
  }
  return out;
}

}  // namespace uvmsim::baseline
