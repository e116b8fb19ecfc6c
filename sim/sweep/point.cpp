#include "sim/sweep/point.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "sim/common/error.h"
#include "sim/policy/name_suggestion.h"
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

json null_if_zero(std::uint64_t value) { return value == 0 ? json() : json(value); }

// Reads members of one object and finds those that nobody asked for.
class Members {
 public:
  Members(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) throw_input_error("{}: is not allowed; allowed: an object", where_);
  }

  const json* find(const std::string& key) {
    known_.insert(key);
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  void text(const std::string& key, std::string& out) {
    if (const json* value = find(key)) out = text_of(*value, key);
  }
  void texts(const std::string& key, std::vector<std::string>& out) {
    const json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_array()) refuse(key, "a list of strings");
    out.clear();
    for (const json& item : *value) out.push_back(text_of(item, key));
  }
  void boolean(const std::string& key, bool& out) {
    const json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_boolean()) refuse(key, "true or false");
    out = value->get<bool>();
  }
  // null is 0.
  void number(const std::string& key, std::uint64_t& out) {
    const json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_null() && !value->is_number_unsigned()) refuse(key, "a whole number of at least 0, or null");
    out = value->is_null() ? 0 : value->get<std::uint64_t>();
  }
  void policy(const std::string& key, PolicyChoice& out) {
    const json* value = find(key);
    if (value == nullptr) return;
    Members members(*value, where_ + ": /" + key);
    out = {};
    members.text("name", out.name);
    if (out.name.empty()) refuse(key, R"({"name": ..., "parameters": {...}})");
    if (const json* parameters = members.find("parameters")) {
      if (!parameters->is_object()) refuse(key + "/parameters", "an object of strings");
      for (const auto& [name, text] : parameters->items()) {
        out.parameters.emplace_back(name, members.text_of(text, "parameters/" + name));
      }
    }
    members.check_all_known();
  }
  void check_all_known() const {
    for (const auto& [key, value] : object_.items()) {
      if (known_.count(key) != 0) continue;
      throw_input_error("{}: unknown key '{}'{}; allowed: {}", where_, key,
                        policy::suggestion(key, {known_.begin(), known_.end()}), fmt::join(known_, ", "));
    }
  }
  [[noreturn]] void refuse(const std::string& key, std::string_view allowed) const {
    throw_input_error("{}: /{}: is not allowed; allowed: {}", where_, key, allowed);
  }

 private:
  std::string text_of(const json& value, const std::string& key) const {
    if (!value.is_string()) refuse(key, "a string");
    return value.get<std::string>();
  }

  const json& object_;
  std::string where_;
  std::set<std::string> known_;
};

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
  return "no limit";
}

std::string policy_text(const PolicyChoice& policy) {
  std::string text = policy.name;
  char separator = ':';
  for (const auto& [key, value] : policy.parameters) {
    text += fmt::format("{}{}={}", separator, key, value);
    separator = ',';
  }
  return text;
}

std::string label(const Point& point) {
  std::string text =
      fmt::format("{} {} {} {} {} {} seed {}", std::filesystem::path(point.trace).filename().string(), point.system,
                  point.layout, limit_text(point), policy_text(point.prefetch), policy_text(point.evict), point.seed);
  for (const policy::Slot slot : kPolicySlots) {
    const PolicyChoice& choice = point.*choice_of(slot);
    if (!is_always_named(slot) && choice.name != driver_choice(slot).name) text += " " + policy_text(choice);
  }
  for (const std::string& setting : point.settings) text += " " + setting;
  return text;
}

namespace {

// As a shell takes it as one word.
std::string quoted(const std::string& text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string last_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

}  // namespace

std::string command_text(const Point& point) {
  std::string text = "uvmsim run " + quoted(last_name(point.trace));
  const auto add = [&](std::string_view option, const std::string& value) {
    text += fmt::format(" --{} {}", option, quoted(value));
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

void check_until_settled(const Point& point, const std::string& where) {
  if (!point.until_settled) return;
  if (point.iterations == 0) {
    throw_input_error("{}: without a number of iterations, the most that may run, such as 32; allowed: both", where);
  }
  if (point.bounds) {
    throw_input_error("{}: bounds are about the whole run, whose length this leaves open; allowed: one of them", where);
  }
}

namespace {

// Files of points are JSON, which has no other names. A folder's files may have any.
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
  json object = {
      {"trace", point.trace},
      {"partial", point.partial},
      {"layout", point.layout},
      {"system", point.system},
      {"settings", point.settings},
      {"osf_thousandths", null_if_zero(point.osf_thousandths)},
      {"capacity_bytes", null_if_zero(point.capacity_bytes)},
      {"footprint_bytes", null_if_zero(point.footprint_bytes)},
      {"plugins", point.plugins},
      {"seed", point.seed},
      {"include_host_gaps", point.include_host_gaps},
      {"iterations", null_if_zero(point.iterations)},
      {"time_scale_millionths", null_if_zero(point.time_scale_millionths)},
      {"recorded_on", point.recorded_on},
  };
  for (const policy::Slot slot : kPolicySlots) {
    const PolicyChoice& choice = point.*choice_of(slot);
    if (!is_always_named(slot) && choice.name == driver_choice(slot).name) continue;
    object[std::string(policy::slot_name(slot))] = policy_json(choice);
  }
  if (point.touched_footprint) object["touched_footprint"] = true;
  if (point.hypothetical_capacity) object["hypothetical_capacity"] = true;
  if (point.until_settled) object["until_settled"] = true;
  if (point.replay_all) object["replay_all"] = true;
  if (point.bounds) object["bounds"] = true;
  return object;
}

Point point_from_json(const json& object, const std::string& where) {
  Point point;
  Members members(object, where);
  members.text("trace", point.trace);
  members.boolean("partial", point.partial);
  members.text("layout", point.layout);
  members.text("system", point.system);
  members.texts("settings", point.settings);
  members.number("osf_thousandths", point.osf_thousandths);
  members.number("capacity_bytes", point.capacity_bytes);
  members.number("footprint_bytes", point.footprint_bytes);
  for (const policy::Slot slot : kPolicySlots) {
    members.policy(std::string(policy::slot_name(slot)), point.*choice_of(slot));
  }
  members.texts("plugins", point.plugins);
  members.number("seed", point.seed);
  members.boolean("include_host_gaps", point.include_host_gaps);
  members.number("iterations", point.iterations);
  members.number("time_scale_millionths", point.time_scale_millionths);
  members.text("recorded_on", point.recorded_on);
  members.boolean("touched_footprint", point.touched_footprint);
  members.boolean("hypothetical_capacity", point.hypothetical_capacity);
  members.boolean("until_settled", point.until_settled);
  members.boolean("replay_all", point.replay_all);
  members.boolean("bounds", point.bounds);
  members.check_all_known();
  if (point.trace.empty()) members.refuse("trace", "the path of a trace");
  if (point.system.empty()) members.refuse("system", "the name or the file of a system");
  check_until_settled(point, where);
  check_footprint(point, where);
  if (point.osf_thousandths != 0 && point.capacity_bytes != 0) {
    throw_input_error("{}: /osf_thousandths and /capacity_bytes both set the capacity; allowed: one of them", where);
  }
  return point;
}

}  // namespace uvmsim::sweep
