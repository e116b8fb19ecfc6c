// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/spec.h"

#include <nlohmann/json.hpp>
#include <set>

#include "sim/sweep/axes.h"

namespace uvmsim::sweep {
namespace {

using Json = nlohmann::ordered_json;

// Reads the axes in `object` over the values already in `axes`; `others` are allowed keys that are not axes.
void read_axes(const JsonValue& object, std::vector<std::string> others, bool of_scenarios, Axes& axes) {
  const AxisOf other_kind = of_scenarios ? AxisOf::kPrograms : AxisOf::kScenarios;
  for (const AxisKey& known : axis_keys()) others.emplace_back(known.name);
  object.check_keys(others);
  for (const auto& [key, value] : object.members()) {
    for (const AxisKey& known : axis_keys()) {
      if (known.name != key) continue;
      if (known.of == other_kind) {
        value.fail("has no effect on {}", of_scenarios ? "a sweep of scenarios, whose files say it for each program"
                                                       : "a sweep of programs alone (traces); scenarios have it");
      }
      known.read(value, axes);
    }
  }
  for (const char* key : {"$schema", "description"}) {
    if (const auto value = object.find(key)) value->text();
  }
}

void add_grid(const Axes& axes, const JsonValue& object, bool of_scenarios, Spec& spec) {
  if (of_scenarios) {
    if (axes.scenarios.empty()) object.fail("the key 'scenarios' is missing");
    scenario::append_scenario_points(axes, object, spec.scenarios);
    return;
  }
  if (axes.traces.empty()) object.fail("the key 'traces' (or 'scenarios') is missing");
  if (axes.systems.empty()) object.fail("the key 'systems' is missing");
  append_points(axes, object, spec.points);
}

// Returns whether the sweep is of scenarios. It cannot mix them with programs, whose results have other columns.
bool is_of_scenarios(const JsonValue& top) {
  bool of_scenarios = top.has("scenarios");
  const auto grids = top.find("grids");
  if (!grids || !grids->json().is_array()) return of_scenarios;
  for (const Json& grid : grids->json()) {
    of_scenarios = of_scenarios || (grid.is_object() && grid.contains("scenarios"));
  }
  return of_scenarios;
}

// Axes without defaults: where a sweep names no value, the scenario's own one applies.
Axes unsaid() {
  Axes axes;
  axes.settings.clear();
  axes.seeds.clear();
  axes.host_gaps.clear();
  return axes;
}

// Returns one baseline for each program and system; points that differ in limit and policies share it.
std::vector<Point> baselines_of(const std::vector<Point>& points) {
  std::vector<Point> baselines;
  std::set<std::string> known;
  for (const Point& point : points) {
    Point baseline = baseline_of(point);
    if (known.insert(to_json(baseline).dump()).second) baselines.push_back(std::move(baseline));
  }
  return baselines;
}

}  // namespace

Spec read_spec(const std::string& path) {
  const Json json = read_json_file(path);
  const JsonValue top(json, path);
  Spec spec;
  spec.json = json.dump();
  const bool of_scenarios = is_of_scenarios(top);
  Axes defaults = of_scenarios ? unsaid() : Axes{};
  read_axes(top, {"$schema", "description", "grids"}, of_scenarios, defaults);
  spec.description = json.value("description", "");
  if (const auto grids = top.find("grids")) {
    for (const JsonValue& grid : grids->items("a list of objects")) {
      Axes axes = defaults;
      read_axes(grid, {"description"}, of_scenarios, axes);
      add_grid(axes, grid, of_scenarios, spec);
    }
  } else {
    add_grid(defaults, top, of_scenarios, spec);
  }
  spec.baselines = baselines_of(spec.points);
  return spec;
}

std::string spec_schema() {
  Json grid = {{"description", {{"type", "string"}, {"description", "for people"}}}};
  for (const AxisKey& key : axis_keys()) {
    Json schema = key.schema();
    schema["description"] = key.doc;
    grid[std::string(key.name)] = std::move(schema);
  }
  Json top = {{"$schema", {{"type", "string"}}}};
  top.update(grid);
  top["grids"] = {{"type", "array"},
                  {"minItems", 1},
                  {"items", {{"type", "object"}, {"additionalProperties", false}, {"properties", grid}}},
                  {"description", "several grids; what they do not say themselves is as it stands outside"}};
  const Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                       {"title", "uvmsim sweep"},
                       {"type", "object"},
                       {"additionalProperties", false},
                       {"properties", top}};
  return schema.dump(2) + "\n";
}

}  // namespace uvmsim::sweep
