// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/point.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "sim/common/error.h"
#include "sim/policy/plugin.h"
#include "sim/policy/registry.h"
#include "sim/report/numbers.h"

namespace uvmsim::sweep {
namespace {

using nlohmann::json;

json policy_json(const PolicyChoice& policy) {
  json parameters = json::object();
  for (const auto& [key, value] : policy.parameters) parameters[key] = value;
  return {{"name", policy.name}, {"parameters", std::move(parameters)}};
}

// The output of to_json() for a member that has its default.
enum class Default { kWritten, kNull, kLeftOut };

// Visits every member but the policies: its name, its value, and how its default is written.
template <class PointT, class Visitor>
void for_each_member(PointT& point, Visitor&& visit) {
  visit("trace", point.trace, Default::kWritten);
  visit("partial", point.partial, Default::kWritten);
  visit("layout", point.layout, Default::kWritten);
  visit("system", point.system, Default::kWritten);
  visit("settings", point.settings, Default::kWritten);
  visit("osf_thousandths", point.osf_thousandths, Default::kNull);
  visit("capacity_bytes", point.capacity_bytes, Default::kNull);
  visit("footprint_bytes", point.footprint_bytes, Default::kNull);
  visit("plugins", point.plugins, Default::kWritten);
  visit("seed", point.seed, Default::kWritten);
  visit("include_host_gaps", point.include_host_gaps, Default::kWritten);
  visit("iterations", point.iterations, Default::kNull);
  visit("time_scale_millionths", point.time_scale_millionths, Default::kNull);
  visit("recorded_on", point.recorded_on, Default::kWritten);
  visit("touched_footprint", point.touched_footprint, Default::kLeftOut);
  visit("hypothetical_capacity", point.hypothetical_capacity, Default::kLeftOut);
  visit("as_recorded", point.as_recorded, Default::kLeftOut);
  visit("until_settled", point.until_settled, Default::kLeftOut);
  visit("replay_all", point.replay_all, Default::kLeftOut);
  visit("bounds", point.bounds, Default::kLeftOut);
}

void read(const JsonValue& value, std::string& out) { out = value.text(); }
void read(const JsonValue& value, bool& out) { out = value.boolean(); }
void read(const JsonValue& value, std::uint64_t& out) { out = value.json().is_null() ? 0 : value.integer(); }
void read(const JsonValue& value, std::vector<std::string>& out) {
  out.clear();
  for (const JsonValue& item : value.items("a list of texts", 0)) out.push_back(item.text());
}
void read(const JsonValue& value, PolicyChoice& out) {
  value.check_keys({"name", "parameters"});
  out = {value.at("name").filled_text("the name of a policy"), {}};
  if (const auto parameters = value.find("parameters")) {
    for (const auto& [name, text] : parameters->members()) out.parameters.emplace_back(name, text.text());
  }
}

}  // namespace

Point baseline_of(const Point& point) {
  Point baseline = point;
  static_cast<PolicyChoices&>(baseline) = {};
  baseline.osf_thousandths = baseline.capacity_bytes = baseline.footprint_bytes = 0;
  baseline.touched_footprint = baseline.hypothetical_capacity = false;
  return baseline;
}

std::string limit_text(const Point& point) {
  if (point.capacity_bytes != 0) return "capacity " + report::format_bytes(point.capacity_bytes);
  if (point.osf_thousandths != 0) return "OSF " + report::format_factor(point.osf_thousandths);
  return point.hypothetical_capacity ? "room for all" : "no limit";
}

std::string policy_text(const PolicyChoice& policy) { return policy::with_parameters(policy.name, policy.parameters); }

std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string label(const Point& point) {
  std::string text =
      fmt::format("{} {} {} {} {} {} seed {}", std::filesystem::path(point.trace).filename().string(), point.system,
                  point.layout, limit_text(point), policy_text(point.prefetch), policy_text(point.evict), point.seed);
  for (const policy::Slot slot : kPolicySlots) {
    if (!is_always_named(slot) && is_named(point, slot)) text += " " + policy_text(point.*choice_of(slot));
  }
  for (const std::string& setting : point.settings) text += " " + setting;
  return text;
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
  return !text.empty() && text.find_first_not_of(kPlain) == std::string::npos ? text : shell_quoted(text);
}

namespace {

std::string last_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

}  // namespace

std::string command_text(const Point& point) {
  std::string text = "uvmsim run " + shell_word(last_name(point.trace));
  const auto add = [&](std::string_view option, const std::string& value) {
    text += fmt::format(" --{} {}", option, shell_word(value));
  };
  add("system", last_name(point.system));
  for (const std::string& setting : point.settings) add("set", setting);
  if (point.osf_thousandths != 0) add("osf", report::format_factor(point.osf_thousandths));
  if (point.capacity_bytes != 0) add("capacity-bytes", fmt::format("{}", point.capacity_bytes));
  if (point.footprint_bytes != 0) add("footprint-bytes", fmt::format("{}", point.footprint_bytes));
  if (point.touched_footprint) add("footprint", "touched");
  if (point.hypothetical_capacity) text += " --hypothetical-capacity";
  const Point usual;
  if (point.layout != usual.layout) add("layout", point.layout);
  for (const policy::Slot slot : kPolicySlots) {
    const PolicyChoice& choice = point.*choice_of(slot);
    if (!(choice == usual.*choice_of(slot))) add(policy::slot_name(slot), policy_text(choice));
  }
  for (const std::string& plugin : point.plugins) add("plugin", last_name(policy::plugin_name(plugin).path));
  if (point.seed != usual.seed) add("seed", fmt::format("{}", point.seed));
  if (point.iterations != 0) add("iterations", fmt::format("{}", point.iterations));
  if (point.as_recorded) add("iterations", "recorded");
  if (point.until_settled) text += " --until-settled";
  if (point.time_scale_millionths != 0) add("time-scale", report::format_millionths(point.time_scale_millionths));
  if (!point.recorded_on.empty()) add("recorded-on", last_name(point.recorded_on));
  if (!point.include_host_gaps) text += " --no-host-gaps";
  if (point.partial) text += " --partial";
  if (point.replay_all) text += " --replay-all";
  if (point.bounds) text += " --bounds";
  return text;
}

void check_footprint(const Point& point, const std::string& where) {
  if (!point.touched_footprint || point.footprint_bytes == 0) return;
  throw_input_error("{}: footprint touched and footprint_bytes both say what the factor divides; allowed: one of them",
                    where);
}

void check_iterations(const Point& point, const std::string& where) {
  if (!point.as_recorded || (point.iterations == 0 && !point.until_settled)) return;
  throw_input_error("{}: as many iterations as were recorded, beside {}; allowed: one of them", where,
                    point.until_settled ? "until settled" : "a number of them");
}

namespace {

// Points are saved as JSON, which holds only UTF-8; names of files may hold any bytes.
void check_utf8(const std::string& name) {
  try {
    static_cast<void>(json(name).dump());
  } catch (const json::exception&) {
    throw_input_error("{}: the name is not UTF-8, and points are kept as JSON; rename the file", name);
  }
}

}  // namespace

json to_json(const Point& point) {
  check_utf8(point.trace);
  check_utf8(point.system);
  for (const std::string& plugin : point.plugins) check_utf8(plugin);
  json object;
  for_each_member(point, [&](const char* name, const auto& value, Default form) {
    const bool is_default = value == std::decay_t<decltype(value)>{};
    if (is_default && form == Default::kLeftOut) return;
    object[name] = is_default && form == Default::kNull ? json() : json(value);
  });
  for (const policy::Slot slot : kPolicySlots) {
    if (is_named(point, slot)) object[std::string(policy::slot_name(slot))] = policy_json(point.*choice_of(slot));
  }
  return object;
}

Point point_from_json(const JsonValue& object) {
  Point point;
  std::vector<std::string> names;
  const auto read_member = [&](std::string_view name, auto& member) {
    names.emplace_back(name);
    if (const auto value = object.find(name)) read(*value, member);
  };
  for_each_member(point, [&](const char* name, auto& member, Default) { read_member(name, member); });
  for (const policy::Slot slot : kPolicySlots) read_member(policy::slot_name(slot), point.*choice_of(slot));
  object.check_keys(names);
  if (point.trace.empty()) throw_input_error("{}: is missing; allowed: the path of a trace", object.where("trace"));
  if (point.system.empty()) {
    throw_input_error("{}: is missing; allowed: the name or the file of a system", object.where("system"));
  }
  check_iterations(point, object.where());
  check_footprint(point, object.where());
  if (point.osf_thousandths != 0 && point.capacity_bytes != 0) {
    object.fail("/osf_thousandths and /capacity_bytes both set the capacity; allowed: one of them");
  }
  return point;
}

}  // namespace uvmsim::sweep
