#include "sim/sweep/spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/common/error.h"
#include "sim/config/json_file.h"
#include "sim/policy/name_suggestion.h"
#include "sim/sweep/axes.h"

namespace uvmsim::sweep {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

const AxisKey* find_key(const std::string& name) {
  for (const AxisKey& key : axis_keys()) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

[[noreturn]] void refuse_key(const std::string& key, const Place& place, std::initializer_list<const char*> others) {
  std::vector<std::string> names(others.begin(), others.end());
  for (const AxisKey& known : axis_keys()) names.emplace_back(known.name);
  throw_input_error("{}: unknown key '{}'{}; allowed: {}", place.text(), key, policy::suggestion(key, names),
                    fmt::join(names, ", "));
}

// The axes that `object` names, over what `axes` holds already.
void read_axes(const Json& object, const Place& place, std::initializer_list<const char*> others, Axes& axes) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(others.begin(), others.end(), key) != others.end()) continue;
    const AxisKey* known = find_key(key);
    if (known == nullptr) refuse_key(key, place, others);
    known->read(value, place / key, axes);
  }
}

void add_grid(const Axes& axes, const Place& place, std::vector<Point>& points) {
  if (axes.traces.empty()) throw_input_error("{}: the key 'traces' is missing", place.text());
  if (axes.systems.empty()) throw_input_error("{}: the key 'systems' is missing", place.text());
  append_points(axes, place, points);
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
  const Json json = config::read_json_file(path);
  const Place top{path, "", fs::path(path).parent_path()};
  if (!json.is_object()) throw_input_error("{}: is {}; allowed: an object", path, config::json_kind(json));
  Spec spec;
  spec.json = json.dump();
  Axes defaults;
  read_axes(json, top, {"$schema", "description", "grids"}, defaults);
  for (const char* key : {"$schema", "description"}) {
    if (json.contains(key) && !json[key].is_string()) {
      throw_input_error("{}: {} is not allowed; allowed: a text", (top / key).text(), config::json_excerpt(json[key]));
    }
  }
  spec.description = json.value("description", "");
  if (!json.contains("grids")) {
    add_grid(defaults, top, spec.points);
    spec.baselines = baselines_of(spec.points);
    return spec;
  }
  const Place grids = top / "grids";
  const Json& list = json["grids"];
  if (!list.is_array() || list.empty()) {
    throw_input_error("{}: {} is not allowed; allowed: a list of objects", grids.text(), config::json_excerpt(list));
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Place place = grids / std::to_string(i);
    if (!list[i].is_object()) {
      throw_input_error("{}: {} is not allowed; allowed: an object", place.text(), config::json_excerpt(list[i]));
    }
    Axes axes = defaults;
    read_axes(list[i], place, {"description"}, axes);
    if (list[i].contains("description") && !list[i]["description"].is_string()) {
      throw_input_error("{}: is not allowed; allowed: a text", (place / "description").text());
    }
    add_grid(axes, place, spec.points);
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
