#include "sim/scenario/scenario.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "sim/common/error.h"
#include "sim/config/json_file.h"
#include "sim/memory/processor.h"
#include "sim/policy/name_suggestion.h"
#include "sim/scenario/harvest_json.h"
#include "sim/sweep/axes.h"

namespace uvmsim::scenario {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using sweep::Axes;
using sweep::Place;

// Values are those of sweep files, one instead of several.
struct Key {
  std::string_view name;
  std::string_view axis;  // of sweep files
  std::string_view doc;
};

constexpr std::array kServerKeys = {
    Key{"system", "systems", "the GPU server: a name, or a file relative to this one"},
    Key{"settings", "settings", "changes of the system: {\"costs.batch_ns\": 7000}"},
    Key{"prefetch", "prefetch", "prefetch policy of all GPUs, default tree (the driver's)"},
    Key{"evict", "evict", "eviction policy of all GPUs, default lrm (the driver's)"},
    Key{"migrate", "migrate", "migrate policy of all GPUs, default first_touch (the driver's)"},
    Key{"route", "route",
        "route policy of all GPUs, default direct (the driver's); with victims or parallel_fetch min_pending"},
    Key{"batch", "batch", "batch policy of all GPUs, default driver (the driver's)"},
    Key{"plugins", "plugins",
        "shared libraries with policies, relative to this file; \"mine.so@sha256:<64 digits>\" only if it is that "
        "file"},
    Key{"seed", "seeds", "seed of policies that draw random numbers, default 1"},
    Key{"host_gaps", "host_gaps", "whether to replay the recorded host time between calls; default true"},
};

constexpr std::array kSharedKeys = {
    Key{"shared_osf", "osf",
        "oversubscription factor of GPUs that several programs use: the sum of their footprints over the memory"},
    Key{"shared_capacity_bytes", "capacity_bytes", "memory of such GPUs for managed data, instead of shared_osf"},
};

struct SharingName {
  std::string_view name;
  GpuSharing sharing;
};
constexpr std::array kSharings = {SharingName{"time_slices", GpuSharing::kTimeSlices},
                                  SharingName{"concurrent", GpuSharing::kConcurrent}};
constexpr const char* kSharingDoc =
    "how programs on one GPU compute: time_slices (default), in turns, or concurrent, at the same time as under MPS";

constexpr std::array kProgramKeys = {
    Key{"trace", "traces", "the program: a path relative to this file"},
    Key{"osf", "osf", "oversubscription factor: its footprint over the memory of each of its GPUs; default none"},
    Key{"capacity_bytes", "capacity_bytes", "memory of each of its GPUs for managed data, instead of osf"},
    Key{"footprint", "footprint", "what osf divides: memory that is \"allocated\" (default) or \"touched\""},
    Key{"footprint_bytes", "footprint_bytes", "what osf divides; default \"measured\""},
    Key{"prefetch", "prefetch", "prefetch policy of this program, instead of the server's"},
    Key{"layout", "layouts", "where its memory lies; default recorded"},
    Key{"iterations", "iterations", "how many marked iterations to run; default \"recorded\""},
    Key{"time_scale", "time_scale", "factor of its kernel durations; default \"auto\""},
};

constexpr std::uint64_t kLatestStartNs = 1'000'000'000'000'000;  // 11 days

constexpr const char* kNameDoc = "its name in the results; no two programs have the same";
constexpr const char* kGpusDoc =
    "the GPUs of the server that the devices 0, 1, ... of its trace stand for; programs that name the same GPU share "
    "it";
constexpr const char* kStartDoc = "when it begins, in nanoseconds; default 0";
constexpr std::uint64_t kHighestPriority = 1000;
constexpr const char* kPriorityDoc =
    "of its time slices on a GPU that programs share: larger numbers go first; default 0";
constexpr const char* kRepeatDoc =
    "true: its settled iteration is repeated until every program without this has ended; default false";

[[noreturn]] void refuse(const Place& place, const Json& value, std::string_view allowed) {
  throw_input_error("{}: {} is not allowed; allowed: {}", place.text(), config::json_excerpt(value), allowed);
}

template <std::size_t kCount>
void check_keys(const Json& object, const Place& place, const std::array<Key, kCount>& table,
                std::vector<std::string> names) {
  for (const Key& key : table) names.emplace_back(key.name);
  for (const auto& [key, value] : object.items()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    throw_input_error("{}: unknown key '{}'{}; allowed: {}", place.text(), key, policy::suggestion(key, names),
                      fmt::join(names, ", "));
  }
}

template <std::size_t kCount>
void read_values(const Json& object, const Place& place, const std::array<Key, kCount>& table, Axes& axes) {
  for (const Key& key : table) {
    const auto value = object.find(key.name);
    if (value == object.end()) continue;
    const Place where = place / std::string(key.name);
    if (value->is_array() && key.name != "plugins") refuse(where, *value, "one value; a scenario has no alternatives");
    for (const sweep::AxisKey& axis : sweep::axis_keys()) {
      if (axis.name == key.axis) axis.read(*value, where, axes);
    }
  }
}

std::string read_text(const Json& object, const Place& place, const char* key) {
  const auto value = object.find(key);
  if (value == object.end()) return {};
  if (!value->is_string()) refuse(place / key, *value, "a text");
  return value->get<std::string>();
}

std::vector<unsigned> read_gpus(const Json& value, const Place& place) {
  const std::string allowed = fmt::format("a list of GPUs such as [0], each from 0 to {}", kMaxGpus - 1);
  if (!value.is_array() || value.empty()) refuse(place, value, allowed);
  std::vector<unsigned> gpus;
  for (const Json& gpu : value) {
    if (!gpu.is_number_unsigned() || gpu.get<std::uint64_t>() >= kMaxGpus) refuse(place, value, allowed);
    gpus.push_back(gpu.get<unsigned>());
  }
  return gpus;
}

ScenarioProgram read_program(const Json& object, const Place& place, Axes axes) {
  if (!object.is_object()) refuse(place, object, "an object");
  check_keys(object, place, kProgramKeys, {"name", "gpus", "start_ns", "priority", "repeat"});
  for (const char* key : {"name", "trace", "gpus"}) {
    if (!object.contains(key)) throw_input_error("{}: the key '{}' is missing", place.text(), key);
  }
  ScenarioProgram program;
  program.name = read_text(object, place, "name");
  if (program.name.empty() || program.name.size() > 64) {
    refuse(place / "name", object["name"], "a text of 1 to 64 bytes");
  }
  program.gpus = read_gpus(object["gpus"], place / "gpus");
  if (const auto start = object.find("start_ns"); start != object.end()) {
    if (!start->is_number_unsigned() || start->get<std::uint64_t>() > kLatestStartNs) {
      refuse(place / "start_ns", *start, fmt::format("a whole number from 0 to {}", kLatestStartNs));
    }
    program.start = Nanoseconds(start->get<std::int64_t>());
  }
  if (const auto priority = object.find("priority"); priority != object.end()) {
    if (!priority->is_number_unsigned() || priority->get<std::uint64_t>() > kHighestPriority) {
      refuse(place / "priority", *priority, fmt::format("a whole number from 0 to {}", kHighestPriority));
    }
    program.priority = priority->get<std::uint32_t>();
  }
  if (const auto repeat = object.find("repeat"); repeat != object.end()) {
    if (!repeat->is_boolean()) refuse(place / "repeat", *repeat, "true or false");
    program.repeat = repeat->get<bool>();
  }
  if (object.contains("osf") && object.contains("capacity_bytes")) {
    throw_input_error("{}: osf and capacity_bytes are both there; allowed: one of them, or none", place.text());
  }
  if (program.repeat && object.contains("iterations")) {
    throw_input_error("{}: iterations have no effect on a program that is repeated", place.text());
  }
  read_values(object, place, kProgramKeys, axes);
  std::vector<sweep::Point> points;
  sweep::append_points(axes, place, points);
  if (points.size() != 1) {
    throw_input_error("{}: describes {} runs of the program; allowed: one, without patterns and lists", place.text(),
                      points.size());
  }
  program.point = std::move(points.front());
  return program;
}

void read_sharing(const Json& json, const Place& top, Scenario& scenario) {
  if (const auto value = json.find("sharing"); value != json.end()) {
    const std::string name = read_text(json, top, "sharing");
    const auto known =
        std::find_if(kSharings.begin(), kSharings.end(), [&](const auto& it) { return it.name == name; });
    if (known == kSharings.end()) refuse(top / "sharing", *value, "time_slices, concurrent");
    scenario.sharing = known->sharing;
  }
  if (json.contains("shared_osf") && json.contains("shared_capacity_bytes")) {
    throw_input_error("{}: shared_osf and shared_capacity_bytes are both there; allowed: one of them, or none",
                      top.text());
  }
  Axes axes;
  read_values(json, top, kSharedKeys, axes);
  if (!axes.osf.empty()) scenario.shared_limit = axes.osf.front();
  if (!axes.capacities.empty()) scenario.shared_limit = axes.capacities.front();
}

}  // namespace

const char* sharing_name(GpuSharing sharing) {
  return sharing == GpuSharing::kTimeSlices ? "time_slices" : "concurrent";
}

Scenario read_scenario(const std::string& path) {
  const Json json = config::read_json_file(path);
  const Place top{path, "", fs::path(path).parent_path()};
  if (!json.is_object()) throw_input_error("{}: is {}; allowed: an object", path, config::json_kind(json));
  std::vector<std::string> others{"$schema", "description", "harvest", "sharing", "programs"};
  for (const Key& key : kSharedKeys) others.emplace_back(key.name);
  check_keys(json, top, kServerKeys, others);
  read_text(json, top, "$schema");
  Scenario scenario;
  scenario.file = path;
  scenario.description = read_text(json, top, "description");
  for (const char* key : {"system", "programs"}) {
    if (!json.contains(key)) throw_input_error("{}: the key '{}' is missing", top.text(), key);
  }
  if (const auto harvest = json.find("harvest"); harvest != json.end()) {
    scenario.harvest = read_harvest(*harvest, top / "harvest");
  }
  read_sharing(json, top, scenario);
  Axes shared;
  read_values(json, top, kServerKeys, shared);
  // Who harvests wants somebody to say whose memory.
  if (!json.contains("route") && (scenario.harvest.victims || scenario.harvest.parallel_fetch)) {
    shared.policies[policy::Slot::kRoute] = {{"min_pending", {}}};
  }
  const Place place = top / "programs";
  const Json& programs = json["programs"];
  if (!programs.is_array() || programs.empty()) refuse(place, programs, "a list of objects");
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const Place here = place / std::to_string(i);
    ScenarioProgram program = read_program(programs[i], here, shared);
    for (const ScenarioProgram& other : scenario.programs) {
      if (other.name == program.name) throw_input_error("{}: '{}' is there twice", (here / "name").text(), other.name);
    }
    scenario.programs.push_back(std::move(program));
  }
  return scenario;
}

namespace {

template <std::size_t kCount>
Json schema_of(const std::array<Key, kCount>& table) {
  Json out = Json::object();
  for (const Key& key : table) {
    for (const sweep::AxisKey& axis : sweep::axis_keys()) {
      if (axis.name != key.axis) continue;
      Json schema = axis.schema();
      // One value or a list of them there: here the one.
      if (key.name != "plugins" && schema.contains("anyOf") && schema["anyOf"].size() == 2 &&
          schema["anyOf"][1].value("type", "") == "array") {
        schema = Json(schema["anyOf"][0]);
      }
      schema["description"] = key.doc;
      out[std::string(key.name)] = std::move(schema);
    }
  }
  return out;
}

}  // namespace

std::string scenario_schema() {
  Json program = {{"name", {{"type", "string"}, {"minLength", 1}, {"maxLength", 64}, {"description", kNameDoc}}},
                  {"gpus",
                   {{"type", "array"},
                    {"items", {{"type", "integer"}, {"minimum", 0}, {"maximum", kMaxGpus - 1}}},
                    {"minItems", 1},
                    {"uniqueItems", true},
                    {"description", kGpusDoc}}}};
  program.update(schema_of(kProgramKeys));
  program["start_ns"] = {{"type", "integer"}, {"minimum", 0}, {"description", kStartDoc}};
  program["priority"] = {
      {"type", "integer"}, {"minimum", 0}, {"maximum", kHighestPriority}, {"description", kPriorityDoc}};
  program["repeat"] = {{"type", "boolean"}, {"description", kRepeatDoc}};
  Json top = {{"$schema", {{"type", "string"}}}, {"description", {{"type", "string"}, {"description", "for people"}}}};
  top.update(schema_of(kServerKeys));
  top.update(schema_of(kSharedKeys));
  top["sharing"] = {{"enum", {"time_slices", "concurrent"}}, {"description", kSharingDoc}};
  top["harvest"] = harvest_schema();
  top["programs"] = {{"type", "array"},
                     {"minItems", 1},
                     {"items",
                      {{"type", "object"},
                       {"additionalProperties", false},
                       {"required", {"name", "trace", "gpus"}},
                       {"properties", program}}},
                     {"description", "the programs that run at the same time"}};
  const Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                       {"title", "uvmsim scenario"},
                       {"type", "object"},
                       {"additionalProperties", false},
                       {"required", {"system", "programs"}},
                       {"properties", top}};
  return schema.dump(2) + "\n";
}

}  // namespace uvmsim::scenario
