#include "sim/baseline/baseline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/common/error.h"
#include "sim/common/wildcard.h"
#include "sim/config/json_file.h"
#include "sim/config/printable.h"
#include "sim/policy/name_suggestion.h"
#include "sim/policy/plugin.h"

namespace uvmsim::baseline {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using config::printable;

constexpr std::pair<const char*, std::string MadeBy::*> kMadeBy[] = {{"uvmsim_version", &MadeBy::uvmsim_version},
                                                                     {"uvmsim_commit", &MadeBy::commit},
                                                                     {"model_version", &MadeBy::model_version},
                                                                     {"system_sha256", &MadeBy::system_sha256}};

constexpr std::size_t kLargestFile = std::size_t{64} << 20;
constexpr std::size_t kLongestName = 200;

void check_used(const compare::Tolerances& tolerances, const std::vector<BaselinePoint>& points,
                const std::string& where) {
  for (const auto& [pattern, given] : tolerances.given()) {
    const bool used = std::any_of(points.begin(), points.end(), [&, &wanted = pattern](const BaselinePoint& point) {
      return std::any_of(point.expected.begin(), point.expected.end(),
                         [&](const auto& metric) { return matches(wanted, metric.first); });
    });
    if (!used) throw_input_error("{}: '{}' matches no metric that is expected", where, printable(pattern));
  }
}

// Reads one file; every message holds its name and the pointer of the key.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Baseline read() {
    const Json file = config::read_json_file(path_, kLargestFile);
    check_keys(file, "", {"schema", "description", "tolerances", "points"});
    const std::string schema = text(require(file, "", "schema"), "/schema");
    if (schema != kBaselineSchema) {
      refuse("/schema", "'{}' cannot be read; allowed: {}", printable(schema), kBaselineSchema);
    }
    if (const auto found = file.find("description"); found != file.end()) {
      baseline_.description = line_of_text(*found, "/description");
    }
    read_tolerances(file, "", baseline_.tolerances);
    const Json& points = require(file, "", "points");
    if (!points.is_array() || points.empty()) refuse("/points", "is not a list of at least one point");
    for (std::size_t i = 0; i < points.size(); ++i) read_point(points[i], fmt::format("/points/{}", i));
    check_used(baseline_.tolerances, baseline_.points, fmt::format("{}: /tolerances", path_));
    return std::move(baseline_);
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(const std::string& pointer, fmt::format_string<Args...> format, Args&&... args) const {
    throw_input_error("{}: {}: {}", path_, pointer, fmt::format(format, std::forward<Args>(args)...));
  }
  const Json& require(const Json& object, const std::string& pointer, const char* key) const {
    const auto found = object.find(key);
    if (found == object.end()) refuse(fmt::format("{}/{}", pointer, key), "is missing");
    return *found;
  }
  std::string text(const Json& value, const std::string& pointer) const {
    if (!value.is_string()) refuse(pointer, "is {}; allowed: a string", config::json_kind(value));
    return value.get<std::string>();
  }
  std::string line_of_text(const Json& value, const std::string& pointer) const {
    const std::string line = text(value, pointer);
    if (!line.empty() && !config::is_one_line(line)) refuse(pointer, "is not one line of text");
    return line;
  }
  void check_keys(const Json& object, const std::string& pointer, const std::vector<std::string>& allowed) const {
    if (!object.is_object()) {
      refuse(pointer.empty() ? "/" : pointer, "is {}; allowed: an object", config::json_kind(object));
    }
    for (const auto& [key, value] : object.items()) {
      if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
      refuse(fmt::format("{}/{}", pointer, printable(key)), "is unknown{}; allowed: {}",
             policy::suggestion(key, allowed), fmt::join(allowed, ", "));
    }
  }

  void read_tolerances(const Json& object, const std::string& pointer, compare::Tolerances& tolerances) const {
    const auto found = object.find("tolerances");
    if (found == object.end()) return;
    const std::string where = pointer + "/tolerances";
    if (!found->is_object()) refuse(where, "is {}; allowed: an object", config::json_kind(*found));
    for (const auto& [metric, value] : found->items()) {
      const std::string at = fmt::format("{}/{}", where, printable(metric));
      if (!value.is_string() && !value.is_number_unsigned()) {
        refuse(at, "is {}; allowed: a string such as \"2 %\", or a whole number", config::json_kind(value));
      }
      const std::string given = value.is_string() ? value.get<std::string>() : value.dump();
      tolerances.add(metric, given, fmt::format("{}: {}", path_, at));
    }
  }

  void read_point(const Json& object, const std::string& pointer) {
    check_keys(object, pointer, {"name", "trace_sha256", "made_by", "inputs", "tolerances", "expected"});
    BaselinePoint point;
    point.name = line_of_text(require(object, pointer, "name"), pointer + "/name");
    if (point.name.empty() || point.name.size() > kLongestName) {
      refuse(pointer + "/name", "has {} characters; allowed: 1 to {}", point.name.size(), kLongestName);
    }
    if (!names_.insert(point.name).second) {
      refuse(pointer + "/name", "'{}' is the name of another point, too", printable(point.name));
    }
    point.trace_sha256 = text(require(object, pointer, "trace_sha256"), pointer + "/trace_sha256");
    if (point.trace_sha256.size() != 64 ||
        point.trace_sha256.find_first_not_of("0123456789abcdef") != std::string::npos) {
      refuse(pointer + "/trace_sha256", "is no SHA-256; allowed: 64 hexadecimal digits, as sha256sum prints them");
    }
    read_made_by(object, pointer, point.made_by);
    const Json& inputs = require(object, pointer, "inputs");
    const std::string where = fmt::format("{}: {}/inputs", path_, pointer);
    point.point = sweep::point_from_json(nlohmann::json(inputs), where);
    if (point.point.trace == "-") refuse(pointer + "/inputs/trace", "is standard input; allowed: a file");
    read_expected(require(object, pointer, "expected"), pointer + "/expected", point);
    read_tolerances(object, pointer, point.tolerances);
    check_used(point.tolerances, {point}, fmt::format("{}: {}/tolerances", path_, pointer));
    baseline_.points.push_back(std::move(point));
  }

  void read_made_by(const Json& object, const std::string& pointer, MadeBy& made_by) const {
    const auto found = object.find("made_by");
    if (found == object.end()) return;
    std::vector<std::string> keys;
    for (const auto& [key, member] : kMadeBy) keys.emplace_back(key);
    check_keys(*found, pointer + "/made_by", keys);
    for (const auto& [key, member] : kMadeBy) {
      if (found->contains(key))
        made_by.*member = line_of_text((*found)[key], fmt::format("{}/made_by/{}", pointer, key));
    }
  }

  void read_expected(const Json& object, const std::string& pointer, BaselinePoint& point) const {
    if (!object.is_object() || object.empty()) {
      refuse(pointer, "is not an object of at least one metric");
    }
    for (const auto& [metric, value] : object.items()) {
      const std::string at = fmt::format("{}/{}", pointer, printable(metric));
      if (!config::is_one_line(metric)) refuse(at, "is no name of a metric");
      if (!value.is_number_unsigned()) {
        refuse(at, "is {}; allowed: a whole number of at least 0", config::json_excerpt(value));
      }
      point.expected.emplace_back(metric, value.get<std::uint64_t>());
    }
  }

  const std::string& path_;
  Baseline baseline_;
  std::set<std::string> names_;
};

// Numbers stay numbers.
Json tolerances_json(const compare::Tolerances& tolerances) {
  Json out = Json::object();
  for (const auto& [metric, given] : tolerances.given()) {
    const bool is_number = !given.empty() && given.find_first_not_of("0123456789") == std::string::npos;
    out[metric] = is_number ? Json::parse(given) : Json(given);
  }
  return out;
}

// What was left out is the default.
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

// Relative to `folder` as well as possible, with '/' between the parts.
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
    return std::any_of(some.given().begin(), some.given().end(),
                       [&](const auto& given) { return matches(given.first, metric); });
  };
  return has(point.tolerances) ? point.tolerances.of(metric) : tolerances.of(metric);
}

MadeBy made_by(const compare::RunView& run) {
  const auto text = [&](const char* key) {
    const std::string* found = compare::find_text(run.provenance, key);
    return found == nullptr ? std::string() : *found;
  };
  return {text("uvmsim"), text("uvmsim_commit"), text("model_version"), text("system_sha256")};
}

PluginFiles plugin_files(const compare::RunView& run) {
  constexpr std::string_view kKey = "plug-in ";  // of RunView::provenance
  PluginFiles files;
  for (const auto& [key, value] : run.provenance) {
    if (key.starts_with(kKey)) files[key.substr(kKey.size())] = value;
  }
  return files;
}

Baseline read_baseline(const std::string& path) { return Reader(path).read(); }

void check_tolerances(const Baseline& baseline, const std::string& where) {
  check_used(baseline.tolerances, baseline.points, where);
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
    one["inputs"] = inputs_json(point.point);
    if (!point.tolerances.given().empty()) one["tolerances"] = tolerances_json(point.tolerances);
    one["expected"] = Json::object();
    for (const auto& [metric, value] : point.expected) one["expected"][metric] = value;
    out["points"].push_back(std::move(one));
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

sweep::Point from_folder_of(const std::string& baseline_path, sweep::Point point) {
  const fs::path folder = fs::path(baseline_path).parent_path();
  return with_paths(std::move(point), [&](const std::string& path) {
    // Written out, so that a file named like a system or an option stays a file.
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
