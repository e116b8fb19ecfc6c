// SPDX-License-Identifier: Apache-2.0
#include "sim/baseline/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/common/error.h"
#include "sim/common/wildcard.h"
#include "sim/formats/json_value.h"
#include "sim/formats/printable.h"
#include "sim/policy/plugin.h"
#include "sim/policy/policy_choices.h"

namespace uvmsim::baseline {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::pair<const char*, std::string MadeBy::*> kMadeBy[] = {{"uvmsim_version", &MadeBy::uvmsim_version},
                                                                     {"uvmsim_commit", &MadeBy::commit},
                                                                     {"model_version", &MadeBy::model_version},
                                                                     {"system_sha256", &MadeBy::system_sha256}};
constexpr const char* kChoices = "choices";  // MadeBy::choices

constexpr std::size_t kLargestFile = std::size_t{64} << 20;
constexpr std::size_t kLongestName = 200;

std::string line_at(const JsonValue& object, const char* key) {
  const auto value = object.find(key);
  return value ? value->line() : std::string();
}

void read_tolerances(const JsonValue& object, compare::Tolerances& tolerances) {
  const auto found = object.find("tolerances");
  if (!found) return;
  for (const auto& [metric, value] : found->members()) {
    if (!value.json().is_string() && !value.json().is_number_unsigned()) {
      value.refuse("a text such as \"2 %\", or a whole number");
    }
    tolerances.add(metric, value.json().is_string() ? value.text() : value.json().dump(), value.where());
  }
}

MadeBy read_made_by(const JsonValue& object) {
  MadeBy made_by;
  std::vector<std::string> keys;
  for (const auto& [key, member] : kMadeBy) keys.emplace_back(key);
  keys.emplace_back(kChoices);
  object.check_keys(keys);
  for (const auto& [key, member] : kMadeBy) made_by.*member = line_at(object, key);
  if (const auto choices = object.find(kChoices)) {
    for (const auto& [key, value] : choices->members()) {
      if (!is_one_line(key)) value.fail("is no name of a policy or parameter");
      made_by.choices.emplace_back(key, value.line());
    }
  }
  return made_by;
}

BaselinePoint read_point(const JsonValue& object) {
  object.check_keys({"name", "trace_sha256", "made_by", "inputs", "tolerances", "expected"});
  BaselinePoint point;
  const JsonValue name = object.at("name");
  point.name = name.line();
  if (point.name.empty() || point.name.size() > kLongestName) {
    name.fail("has {} characters; allowed: 1 to {}", point.name.size(), kLongestName);
  }
  const JsonValue hash = object.at("trace_sha256");
  point.trace_sha256 = hash.text();
  if (point.trace_sha256.size() != 64 ||
      point.trace_sha256.find_first_not_of("0123456789abcdef") != std::string::npos) {
    hash.fail("is no SHA-256; allowed: 64 hexadecimal digits, as sha256sum prints them");
  }
  if (const auto made_by = object.find("made_by")) point.made_by = read_made_by(*made_by);
  point.point = sweep::point_from_json(object.at("inputs"));
  if (point.point.trace == "-") object.at("inputs").at("trace").fail("is standard input; allowed: a file");
  const JsonValue expected = object.at("expected");
  for (const auto& [metric, value] : expected.members()) {
    if (!is_one_line(metric)) value.fail("is no name of a metric");
    point.expected.emplace_back(metric, value.integer());
  }
  if (point.expected.empty()) expected.refuse("an object of at least one metric");
  read_tolerances(object, point.tolerances);
  check_used(point.tolerances, {point}, object.where("tolerances"));
  return point;
}

// Values that are numbers stay numbers.
Json tolerances_json(const compare::Tolerances& tolerances) {
  Json out = Json::object();
  for (const auto& [metric, given] : tolerances.given()) {
    const bool is_number = !given.empty() && given.find_first_not_of("0123456789") == std::string::npos;
    out[metric] = is_number ? Json::parse(given) : Json(given);
  }
  return out;
}

// Members with their default are left out.
Json inputs_json(const sweep::Point& point) {
  const nlohmann::json all = sweep::to_json(point), defaults = sweep::to_json(sweep::Point{});
  Json out = {{"trace", point.trace}, {"system", point.system}};
  for (const auto& [key, value] : all.items()) {
    if (out.contains(key) || (defaults.contains(key) && defaults[key] == value)) continue;
    out[key] = Json::parse(value.dump());
  }
  return out;
}

bool is_path_of_system(const std::string& system) {
  return system.find('/') != std::string::npos || system.ends_with(".json");
}

// Returns the path relative to `folder` if possible, with '/' between the parts.
std::string relative_to(const fs::path& folder, const std::string& path) {
  const fs::path absolute = fs::weakly_canonical(fs::absolute(path));
  const fs::path relative = absolute.lexically_relative(fs::weakly_canonical(fs::absolute(folder)));
  return (relative.empty() ? absolute : relative).generic_string();
}

template <class Change>
sweep::Point with_paths(sweep::Point point, Change&& change) {
  point.trace = change(point.trace);
  if (is_path_of_system(point.system)) point.system = change(point.system);
  if (is_path_of_system(point.recorded_on)) point.recorded_on = change(point.recorded_on);
  for (std::string& plugin : point.plugins) {
    policy::PluginName name = policy::plugin_name(plugin);
    name.path = change(name.path);
    plugin = name.text();
  }
  return point;
}

}  // namespace

compare::Tolerance Baseline::tolerance(const BaselinePoint& point, std::string_view metric) const {
  const auto has = [&](const compare::Tolerances& some) {
    return std::ranges::any_of(some.given(), [&](const auto& given) { return matches(given.first, metric); });
  };
  return has(point.tolerances) ? point.tolerances.of(metric) : tolerances.of(metric);
}

MadeBy made_by(const compare::RunView& run) {
  const auto text = [&](const char* key) { return compare::named_or(run.provenance, key, std::string()); };
  MadeBy by{text("uvmsim"), text("uvmsim_commit"), text("model_version"), text("system_sha256")};
  for (const auto& choice : run.identity) {
    const bool of_policy = std::ranges::any_of(
        kPolicySlots, [&](policy::Slot slot) { return compare::belongs_to(choice.first, policy::slot_name(slot)); });
    if (of_policy || compare::belongs_to(choice.first, "layout")) by.choices.push_back(choice);
  }
  return by;
}

PluginFiles plugin_files(const compare::RunView& run) {
  constexpr std::string_view kKey = "plug-in ";  // in RunView::provenance
  PluginFiles files;
  for (const auto& [key, value] : run.provenance) {
    if (key.starts_with(kKey)) files[key.substr(kKey.size())] = value;
  }
  return files;
}

Baseline read_baseline(const std::string& path) {
  const Json json = read_json_file(path, kLargestFile);
  const JsonValue file(json, path);
  file.check_keys({"schema", "description", "tolerances", "points"});
  file.at("schema").word({kBaselineSchema});
  Baseline baseline;
  baseline.description = line_at(file, "description");
  read_tolerances(file, baseline.tolerances);
  std::set<std::string> names;
  for (const JsonValue& object : file.at("points").items("a list of at least one point")) {
    baseline.points.push_back(read_point(object));
    const std::string& name = baseline.points.back().name;
    if (!names.insert(name).second) object.at("name").fail("'{}' is the name of another point, too", printable(name));
  }
  check_used(baseline.tolerances, baseline.points, file.where("tolerances"));
  return baseline;
}

void check_used(const compare::Tolerances& tolerances, const std::vector<BaselinePoint>& points,
                const std::string& where) {
  for (const auto& [pattern, given] : tolerances.given()) {
    const bool used = std::ranges::any_of(points, [&, &wanted = pattern](const BaselinePoint& point) {
      return std::ranges::any_of(point.expected, [&](const auto& metric) { return matches(wanted, metric.first); });
    });
    if (!used) throw_input_error("{}: '{}' matches no metric that is expected", where, printable(pattern));
  }
}

std::string baseline_text(const Baseline& baseline) {
  Json out;
  out["schema"] = kBaselineSchema;
  if (!baseline.description.empty()) out["description"] = baseline.description;
  if (!baseline.tolerances.given().empty()) out["tolerances"] = tolerances_json(baseline.tolerances);
  out["points"] = Json::array();
  for (const BaselinePoint& point : baseline.points) {
    Json one = {{"name", point.name}, {"trace_sha256", point.trace_sha256}};
    for (const auto& [key, member] : kMadeBy) {
      if (!(point.made_by.*member).empty()) one["made_by"][key] = point.made_by.*member;
    }
    for (const auto& [key, value] : point.made_by.choices) one["made_by"][kChoices][key] = value;
    one["inputs"] = inputs_json(point.point);
    if (!point.tolerances.given().empty()) one["tolerances"] = tolerances_json(point.tolerances);
    one["expected"] = Json::object_t(point.expected.begin(), point.expected.end());
    out["points"].push_back(std::move(one));
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

sweep::Point from_folder_of(const std::string& baseline_path, sweep::Point point) {
  const fs::path folder = fs::path(baseline_path).parent_path();
  return with_paths(std::move(point), [&](const std::string& path) {
    // Written with its folder, so that a file named like a system or an option stays a file.
    const fs::path whole = folder / path;
    return whole.is_absolute() || whole.has_parent_path() ? whole.string() : "./" + whole.string();
  });
}

sweep::Point to_folder_of(const std::string& baseline_path, sweep::Point point) {
  const fs::path folder = fs::absolute(baseline_path).parent_path();
  return with_paths(std::move(point), [&](const std::string& path) {
    const std::string relative = relative_to(folder, path);
    return relative.find('/') == std::string::npos ? "./" + relative : relative;
  });
}

void record_plugins(sweep::Point& point, const PluginFiles& used) {
  std::vector<std::string> recorded;
  for (const std::string& plugin : point.plugins) {
    policy::PluginName name = policy::plugin_name(plugin);
    const auto file = used.find(fs::path(name.path).filename().string());
    if (file == used.end()) continue;
    name.sha256 = file->second;
    recorded.push_back(name.text());
  }
  point.plugins = std::move(recorded);
}

}  // namespace uvmsim::baseline
