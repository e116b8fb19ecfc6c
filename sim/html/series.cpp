// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "sim/compare/comparison.h"
#include "sim/html/points.h"

namespace uvmsim::html {
namespace {

using compare::belongs_to;

bool is_of_panel(std::string_view key) { return belongs_to(key, "trace") || belongs_to(key, "system"); }

// Returns whether a key only determines a point's place within its series.
bool is_place(std::string_view key) {
  return key == "osf" || key == "capacity_bytes" || key == "seed" || key == "limit" || belongs_to(key, "hypothetical");
}

// It is enough to say that the systems differ in a number; its name is not needed.
std::string text_of(const ReportPoint& point, const std::function<bool(std::string_view)>& wanted) {
  return compare::describe_run(point.view, wanted);
}

// Returns the hash of its trace.
std::string trace_of(const ReportPoint& point) {
  return compare::named_or(point.view.identity, "trace", std::string());
}

class Places {
 public:
  explicit Places(const std::vector<ReportPoint>& points) {
    std::vector<const compare::RunView*> runs;
    for (const ReportPoint& point : points) runs.push_back(&point.view);
    for (const std::string& key : compare::varying_keys(runs)) varying_.insert(key);
  }
  bool varies(std::string_view key) const { return varying_.count(std::string(key)) != 0; }

  std::string panel(const ReportPoint& point) const {
    const std::string more =
        text_of(point, [&](std::string_view key) { return varies(key) && is_of_panel(key) && key != "trace"; });
    return point.program + (more.empty() ? "" : ", " + trimmed(more));
  }
  std::string series(const ReportPoint& point) const {
    return trimmed(
        text_of(point, [&](std::string_view key) { return varies(key) && !is_of_panel(key) && !is_place(key); }));
  }
  std::string shared(const ReportPoint& point) const {
    return text_of(point, [&](std::string_view key) {
      return !varies(key) && !key.starts_with("system.") && key.find('.') == std::string_view::npos &&
             !belongs_to(key, "include_host_gaps") && !belongs_to(key, "footprint");
    });
  }

 private:
  static std::string trimmed(std::string text) {
    const std::size_t begin = text.find_first_not_of(", ");
    return begin == std::string::npos ? "" : text.substr(begin);
  }

  std::set<std::string> varying_;
};

}  // namespace

SeriesTable series_of(const std::vector<ReportPoint>& points) {
  SeriesTable table;
  if (points.empty()) return table;
  const Places names(points);
  table.shared = names.shared(points.front());
  std::map<std::string, std::set<std::string>> traces_of;  // by panel name
  for (const ReportPoint& point : points) traces_of[names.panel(point)].insert(trace_of(point));
  // Two recordings with one name get two panels, named by their contents.
  const auto panel_name = [&](const ReportPoint& point) {
    const std::string name = names.panel(point);
    return traces_of[name].size() == 1 ? name : fmt::format("{} (trace {})", name, trace_of(point).substr(0, 12));
  };
  std::map<std::string, std::size_t> panels, series;
  for (const ReportPoint& point : points) {
    PlacedPoint place;
    const std::string name = panel_name(point);
    const auto [panel, new_panel] = panels.try_emplace(name, table.panels.size());
    if (new_panel) table.panels.push_back(name);
    place.panel = panel->second;
    const std::string label = names.series(point);
    const auto [one, new_series] = series.try_emplace(label, table.series.size());
    if (new_series) table.series.push_back({label.empty() ? point.policies : label, point.are_drivers_policies});
    place.series = one->second;
    table.places.push_back(place);
  }
  // The driver's own series comes first, because colours and comparisons begin with it.
  std::vector<std::size_t> order(table.series.size()), place_of(table.series.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_partition(order.begin(), order.end(),
                        [&](std::size_t i) { return table.series[i].are_drivers_policies; });
  std::vector<Series> sorted;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place_of[order[i]] = i;
    sorted.push_back(table.series[order[i]]);
  }
  table.series = std::move(sorted);
  for (PlacedPoint& place : table.places) place.series = place_of[place.series];
  return table;
}

}  // namespace uvmsim::html
