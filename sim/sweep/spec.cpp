#include "sim/sweep/spec.h"

#include <nlohmann/json.hpp>
#include <set>

#include "sim/sweep/axes.h"

namespace uvmsim::sweep {
namespace {

using Json = nlohmann::ordered_json;

// The axes that `object` names, over what `axes` holds already; `others` are keys that are none.
void read_axes(const JsonValue& object, std::vector<std::string> others, Axes& axes) {
  for (const AxisKey& known : axis_keys()) others.emplace_back(known.name);
  object.check_keys(others);
  for (const auto& [key, value] : object.members()) {
    for (const AxisKey& known : axis_keys()) {
      if (known.name == key) known.read(value, axes);
    }
  }
  for (const char* key : {"$schema", "description"}) {
    if (const auto value = object.find(key)) value->text();
  }
}

void add_grid(const Axes& axes, const JsonValue& object, std::vector<Point>& points) {
  if (axes.traces.empty()) object.fail("the key 'traces' is missing");
  if (axes.systems.empty()) object.fail("the key 'systems' is missing");
  append_points(axes, object, points);
}

// One for each program and system: points that differ in limit and policies share it.
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
  Axes defaults;
  read_axes(top, {"$schema", "description", "grids"}, defaults);
  spec.description = json.value("description", "");
  if (const auto grids = top.find("grids")) {
    for (const JsonValue& grid : grids->items("a list of objects")) {
      Axes axes = defaults;
      read_axes(grid, {"description"}, axes);
      add_grid(axes, grid, spec.points);
    }
  } else {
    add_grid(defaults, top, spec.points);
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
