// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <variant>

#include "sim/memory/processor.h"
#include "sim/sweep/axes.h"
#include "sim/sweep/values.h"

namespace uvmsim::scenario {
namespace {

using Json = nlohmann::ordered_json;
using sweep::Axes;

// Keys of scenario files whose values are those of sweep files, with one value instead of several.
struct Key {
  std::string_view name;
  std::string_view axis;  // the key's name in sweep files
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

constexpr std::string_view kSharingNames[] = {"time_slices", "concurrent"};  // by GpuSharing
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
constexpr const char* kScheduleDoc =
    "schedule policy of GPUs that several programs use in time slices, default round_robin (the GPU's own): "
    "\"priority:0=1\"";
constexpr const char* kRepeatDoc =
    "true: its settled iteration is repeated until every program without this has ended; default false";

// The keys of `harvest`: switches and limits of the parts of HUVM's driver.
struct HarvestKey {
  const char* name;
  std::variant<bool HarvestChoice::*, std::uint32_t HarvestChoice::*> member;
  const char* doc;
  std::uint32_t least = 0, most = 0;  // the range of a number
};
const HarvestKey kHarvestKeys[] = {
    {"victims", &HarvestChoice::victims, "evicted blocks may go to spare memory of peers"},
    {"pre_evict", &HarvestChoice::pre_evict, "a reserve is kept free ahead of need"},
    {"parallel_fetch", &HarvestChoice::parallel_fetch, "faulted blocks may also come over the links of peers"},
    {"prefetch", &HarvestChoice::prefetch,
     "blocks beyond a fault batch come ahead of need; over whose links, `route` says"},
    {"reserve_chunks", &HarvestChoice::reserve_chunks, "2 MB chunks that every GPU keeps; default 50", 0, 1'000'000},
    {"prefetch_chunks", &HarvestChoice::prefetch_chunks,
     "blocks of 2 MB that prefetch looks at after a batch; default 16", 1, 1024},
    {"prefetch_stride", &HarvestChoice::prefetch_stride, "from one of them to the next, in blocks; default 2", 1, 1024},
};

void read(const JsonValue& value, const HarvestKey&, bool& member) { member = value.boolean(); }
void read(const JsonValue& value, const HarvestKey& key, std::uint32_t& member) {
  member = static_cast<std::uint32_t>(value.integer(key.least, key.most));
}

HarvestChoice read_harvest(const JsonValue& object) {
  HarvestChoice choice;
  std::vector<std::string> names;
  for (const HarvestKey& key : kHarvestKeys) {
    names.emplace_back(key.name);
    const auto value = object.find(key.name);
    if (value) std::visit([&](auto member) { read(*value, key, choice.*member); }, key.member);
  }
  object.check_keys(names);
  return choice;
}

Json harvest_schema() {
  Json properties = Json::object();
  for (const HarvestKey& key : kHarvestKeys) {
    Json& schema = properties[key.name];
    if (std::holds_alternative<bool HarvestChoice::*>(key.member)) {
      schema = {{"type", "boolean"}};
    } else {
      schema = {{"type", "integer"}, {"minimum", key.least}, {"maximum", key.most}};
    }
    schema["description"] = key.doc;
  }
  return {{"type", "object"},
          {"additionalProperties", false},
          {"properties", properties},
          {"description", "spare memory of GPUs for what their peers evict, as HUVM does; default: none of it"}};
}

const sweep::AxisKey& axis_of(const Key& key) {
  return *std::ranges::find(sweep::axis_keys(), key.axis, &sweep::AxisKey::name);
}

template <std::size_t kCount>
void check_keys(const JsonValue& object, const std::array<Key, kCount>& table, std::vector<std::string> names) {
  for (const Key& key : table) names.emplace_back(key.name);
  object.check_keys(names);
}

template <std::size_t kCount>
void read_values(const JsonValue& object, const std::array<Key, kCount>& table, Axes& axes) {
  for (const Key& key : table) {
    const auto value = object.find(key.name);
    if (!value) continue;
    if (value->json().is_array() && key.name != "plugins") value->refuse("one value; a scenario has no alternatives");
    axis_of(key).read(*value, axes);
  }
}

std::string read_text(const JsonValue& object, const char* key) {
  const auto value = object.find(key);
  return value ? value->text() : std::string();
}

std::uint64_t read_integer(const JsonValue& object, const char* key, std::uint64_t most) {
  const auto value = object.find(key);
  return value ? value->integer(0, most) : 0;
}

std::vector<unsigned> read_gpus(const JsonValue& value) {
  std::vector<unsigned> gpus;
  for (const JsonValue& gpu : value.items(fmt::format("a list of GPUs such as [0], each from 0 to {}", kMaxGpus - 1))) {
    gpus.push_back(static_cast<unsigned>(gpu.integer(0, kMaxGpus - 1)));
  }
  return gpus;
}

ScenarioProgram read_program(const JsonValue& object, Axes axes) {
  check_keys(object, kProgramKeys, {"name", "gpus", "start_ns", "repeat"});
  ScenarioProgram program;
  const JsonValue name = object.at("name");
  program.name = name.text();
  if (program.name.empty() || program.name.size() > 64) name.refuse("a text of 1 to 64 bytes");
  object.at("trace");
  program.gpus = read_gpus(object.at("gpus"));
  program.start = Nanoseconds(static_cast<std::int64_t>(read_integer(object, "start_ns", kLatestStartNs)));
  if (const auto repeat = object.find("repeat")) program.repeat = repeat->boolean();
  if (object.has("osf") && object.has("capacity_bytes")) {
    object.fail("osf and capacity_bytes are both there; allowed: one of them, or none");
  }
  if (program.repeat && object.has("iterations")) {
    object.fail("iterations have no effect on a program that is repeated");
  }
  read_values(object, kProgramKeys, axes);
  std::vector<sweep::Point> points;
  sweep::append_points(axes, object, points);
  if (points.size() != 1) {
    object.fail("describes {} runs of the program; allowed: one, without patterns and lists", points.size());
  }
  program.point = std::move(points.front());
  if (!object.has("iterations")) program.point.as_recorded = true;
  if (program.point.iterations == 0 && !program.point.as_recorded) {
    object.at("iterations")
        .fail("programs that run together end when each has done its own; allowed: \"recorded\", or a number");
  }
  return program;
}

void read_sharing(const JsonValue& top, Scenario& scenario) {
  if (const auto value = top.find("sharing")) scenario.sharing = static_cast<GpuSharing>(value->word(sharing_names()));
  if (top.has("shared_osf") && top.has("shared_capacity_bytes")) {
    top.fail("shared_osf and shared_capacity_bytes are both there; allowed: one of them, or none");
  }
  const auto schedule = top.find("schedule");
  scenario.schedules = schedule.has_value();
  if (schedule && scenario.sharing == GpuSharing::kConcurrent) {
    schedule->fail("a schedule has no effect on concurrent kernels; allowed with \"sharing\": \"time_slices\"");
  }
  Axes axes;
  read_values(top, kSharedKeys, axes);
  if (!axes.osf.empty()) scenario.shared_limit = axes.osf.front();
  if (!axes.capacities.empty()) scenario.shared_limit = axes.capacities.front();
}

}  // namespace

std::string sharing_name(GpuSharing sharing) { return std::string(kSharingNames[static_cast<std::size_t>(sharing)]); }

std::vector<std::string> sharing_names() { return {std::begin(kSharingNames), std::end(kSharingNames)}; }

Json harvest_json(const HarvestChoice& choice) {
  Json out = Json::object();
  for (const HarvestKey& key : kHarvestKeys) {
    std::visit([&](auto member) { out[key.name] = choice.*member; }, key.member);
  }
  return out;
}

Scenario read_scenario(const std::string& path) {
  const Json json = read_json_file(path);
  return read_scenario(JsonValue(json, path));
}

Scenario read_scenario(const JsonValue& top) {
  std::vector<std::string> others{"$schema", "description", "harvest", "sharing", "schedule", "programs"};
  for (const Key& key : kSharedKeys) others.emplace_back(key.name);
  check_keys(top, kServerKeys, others);
  read_text(top, "$schema");
  Scenario scenario;
  scenario.file = top.origin();
  scenario.description = read_text(top, "description");
  top.at("system");
  const JsonValue programs = top.at("programs");
  if (const auto harvest = top.find("harvest")) scenario.harvest = read_harvest(*harvest);
  read_sharing(top, scenario);
  Axes shared;
  read_values(top, kServerKeys, shared);
  // Harvesting needs a route policy, which chooses the GPU whose memory and link are used.
  if (!top.has("route") && (scenario.harvest.victims || scenario.harvest.parallel_fetch)) {
    shared.policies[policy::Slot::kRoute] = {{"min_pending", {}}};
  }
  for (const JsonValue& object : programs.items("a list of objects")) {
    ScenarioProgram program = read_program(object, shared);
    if (const auto schedule = top.find("schedule")) {
      program.point.schedule = sweep::parse_policy(schedule->where(), schedule->text());
    }
    for (const ScenarioProgram& other : scenario.programs) {
      if (other.name == program.name) object.at("name").fail("'{}' is there twice", other.name);
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
    Json schema = axis_of(key).schema();
    // A sweep file allows one value or a list; a scenario allows the one value.
    if (key.name != "plugins" && schema.contains("anyOf") && schema["anyOf"].size() == 2 &&
        schema["anyOf"][1].value("type", "") == "array") {
      schema = Json(schema["anyOf"][0]);
    }
    schema["description"] = key.doc;
    out[std::string(key.name)] = std::move(schema);
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
  program["repeat"] = {{"type", "boolean"}, {"description", kRepeatDoc}};
  Json top = {{"$schema", {{"type", "string"}}}, {"description", {{"type", "string"}, {"description", "for people"}}}};
  top.update(schema_of(kServerKeys));
  top.update(schema_of(kSharedKeys));
  top["sharing"] = {{"enum", sharing_names()}, {"description", kSharingDoc}};
  top["schedule"] = {{"type", "string"}, {"description", kScheduleDoc}};
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
