// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/scenario_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "sim/common/error.h"
#include "sim/common/sha256.h"
#include "sim/policy/registry.h"
#include "sim/report/numbers.h"
#include "sim/sweep/run_scenario.h"
#include "sim/sweep/scenario.h"

namespace uvmsim::scenario {
namespace {

using Json = nlohmann::ordered_json;
using Changes = sweep::Changes<Json>;  // of the scenario's content

Scenario scenario_of(const ScenarioPoint& point) { return read_scenario(JsonValue(point.content, point.file)); }

bool is_concurrent(const ScenarioPoint& point) {
  return point.content.value("sharing", "") == sharing_name(GpuSharing::kConcurrent);
}

// Reads the file's content and makes its paths independent of the folder.
Json whole_content(const std::string& file) {
  Json content = read_json_file(file);
  const Scenario scenario = read_scenario(JsonValue(content, file));
  const sweep::Point& first = scenario.programs.front().point;
  content.erase("$schema");
  content["system"] = first.system;
  if (content.contains("plugins")) content["plugins"] = first.plugins;
  for (std::size_t i = 0; i < scenario.programs.size(); ++i) {
    sweep::to_json(scenario.programs[i].point);  // refuses names that JSON cannot hold
    content["programs"][i]["trace"] = scenario.programs[i].point.trace;
  }
  return content;
}

// Returns one change per value, which sets `key`.
template <class Values, class Text>
Changes replacing(const Values& values, const std::string& key, const Text& json_of) {
  Changes changes;
  for (const auto& value : values) {
    changes.push_back([key, json = Json(json_of(value))](Json& content) { content[key] = json; });
  }
  return changes;
}

Changes::value_type with_settings(const std::vector<std::string>& settings) {
  return [settings](Json& content) {
    Json& object = content["settings"];
    if (!object.is_object()) object = Json::object();
    for (const std::string& setting : settings) {
      const std::size_t equals = setting.find('=');
      object[setting.substr(0, equals)] = setting.substr(equals + 1);
    }
  };
}

Changes::value_type with_limit(const sweep::Limit& limit) {
  return [limit](Json& content) {
    content.erase("shared_osf");
    content.erase("shared_capacity_bytes");
    if (limit.osf_thousandths != 0) content["shared_osf"] = report::format_factor(limit.osf_thousandths);
    if (limit.capacity_bytes != 0) content["shared_capacity_bytes"] = limit.capacity_bytes;
  };
}

// Returns the changes of each axis, the slowest first.
std::vector<Changes> changes_of(const sweep::Axes& axes) {
  const auto same = [](const auto& value) { return value; };
  std::vector<Changes> all{replacing(axes.systems, "system", same)};
  Changes& settings = all.emplace_back();
  for (const auto& alternative : axes.settings) settings.push_back(with_settings(alternative));
  all.push_back(replacing(axes.host_gaps, "host_gaps", same));
  for (const auto& [slot, choices] : axes.policies) {
    all.push_back(replacing(choices, std::string(policy::slot_name(slot)), sweep::policy_text));
  }
  all.push_back(replacing(axes.schedules, "schedule", sweep::policy_text));
  all.push_back(replacing(axes.sharings, "sharing", same));
  all.push_back(replacing(axes.seeds, "seed", same));
  Changes& limits = all.emplace_back();
  for (const auto& values : {axes.shared_osf, axes.shared_capacities}) {
    for (const sweep::Limit& limit : values) limits.push_back(with_limit(limit));
  }
  std::erase_if(all, [](const auto& changes) { return changes.empty(); });
  return all;
}

void add_plugins(const std::vector<std::string>& plugins, Json& content) {
  if (plugins.empty()) return;
  Json& all = content["plugins"];
  if (!all.is_array()) all = Json::array();
  for (const std::string& plugin : plugins) {
    if (std::find(all.begin(), all.end(), plugin) == all.end()) all.push_back(plugin);
  }
}

}  // namespace

void append_scenario_points(const sweep::Axes& axes, const JsonValue& object, std::vector<ScenarioPoint>& points) {
  const std::vector<Changes> changes = changes_of(axes);
  std::vector<std::size_t> sizes = sweep::sizes_of(changes);
  sizes.insert(sizes.begin(), axes.scenarios.size());
  sweep::check_count(points.size(), sizes, object);
  for (const std::string& file : axes.scenarios) {
    Json whole = whole_content(file);
    add_plugins(axes.plugins, whole);
    sweep::for_each_combination(changes, whole, [&](Json content) {
      ScenarioPoint& point = points.emplace_back(ScenarioPoint{file, std::move(content), axes.alone});
      // Concurrent kernels have no schedule: points that differ only in it are equal and merged into one.
      if (is_concurrent(point)) point.content.erase("schedule");
      scenario_of(point);
    });
  }
}

sweep::Point common_point(const ScenarioPoint& point) {
  const Scenario scenario = scenario_of(point);
  sweep::Point common = scenario.programs.front().point;
  common.trace = point.file;
  common.layout = sweep::Point().layout;
  common.osf_thousandths = scenario.shared_limit.osf_thousandths;
  common.capacity_bytes = scenario.shared_limit.capacity_bytes;
  return common;
}

std::string label(const ScenarioPoint& point, const sweep::Point& common) {
  std::string text = fmt::format("{} {} {}", std::filesystem::path(point.file).filename().string(), common.system,
                                 sweep::limit_text(common));
  for (const policy::Slot slot : kPolicySlots) {
    if (is_named(common, slot)) text += " " + sweep::policy_text(common.*choice_of(slot));
  }
  if (!is_driver_choice(common, policy::Slot::kSchedule)) text += " schedule " + sweep::policy_text(common.schedule);
  if (is_concurrent(point)) text += " concurrent";
  text += fmt::format(" seed {}", common.seed);
  for (const std::string& setting : common.settings) text += " " + setting;
  return text;
}

ResolvedScenario resolve(const ScenarioPoint& point, sweep::Resolver& resolver) {
  using nlohmann::json;
  const Scenario scenario = scenario_of(point);
  json programs = json::array();
  std::map<std::string, json> used;  // plug-ins by name
  for (const ScenarioProgram& program : scenario.programs) {
    const sweep::ResolvedPoint resolved = resolver.resolve(program.point);
    json determinants = json::parse(resolved.determinants);
    for (std::size_t i = 0; i < resolved.point.plugins.size(); ++i) {
      used.emplace(resolved.point.plugins[i], determinants.at("plugins").at(i));
    }
    programs.push_back({{"name", program.name},
                        {"gpus", program.gpus},
                        {"start_ns", program.start.value},
                        {"repeat", program.repeat},
                        {"run", std::move(determinants)}});
  }
  // Keeps the plug-ins in the scenario's order.
  ResolvedScenario resolved{point, "", ""};
  resolved.point.content.erase("plugins");
  json plugins = json::array();
  for (const std::string& name : scenario.programs.front().point.plugins) {
    const auto plugin = used.find(name);
    if (plugin == used.end()) continue;
    plugins.push_back(plugin->second);
    resolved.point.content["plugins"].push_back(name);
  }
  const json system = programs.front().at("run").at("system");
  const json determinants = {{"schema", "uvmsim.scenario_point/1"},
                             {"alone", point.alone},
                             {"harvest", json::parse(harvest_json(scenario.harvest).dump())},
                             {"plugins", plugins},
                             {"programs", programs},
                             {"shared_osf_thousandths", scenario.shared_limit.osf_thousandths},
                             {"shared_capacity_bytes", scenario.shared_limit.capacity_bytes},
                             {"sharing", sharing_name(scenario.sharing)},
                             {"system", system}};
  resolved.determinants = determinants.dump(-1, ' ', false, json::error_handler_t::replace);
  resolved.id = sha256(resolved.determinants);
  return resolved;
}

std::string run(const ScenarioPoint& point, sweep::Resolver& resolver) {
  const Scenario scenario = scenario_of(point);
  std::vector<sweep::Point> points;
  for (const ScenarioProgram& program : scenario.programs) points.push_back(program.point);
  resolver.keep_only_traces_of(points);
  ScenarioChoices choices;
  choices.alone = point.alone;
  return scenario_json(scenario, run_scenario(scenario, resolver, choices));
}

Json to_json(const ScenarioPoint& point) {
  return {{"file", point.file}, {"content", point.content}, {"alone", point.alone}};
}

ScenarioPoint scenario_point_from_json(const JsonValue& object) {
  object.check_keys({"file", "content", "alone"});
  ScenarioPoint point{object.at("file").text(), object.at("content").json(), object.at("alone").boolean()};
  scenario_of(point);
  return point;
}

}  // namespace uvmsim::scenario
