// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/run_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "sim/common/plain_text.h"
#include "sim/formats/json_value.h"
#include "sim/policy/policy_choices.h"
#include "sim/policy/registry.h"
#include "sim/report/numbers.h"
#include "sim/report/result_json.h"

namespace uvmsim::compare {
namespace {

using Json = nlohmann::ordered_json;

// Members that describe how to read the result, or that this file handles individually. The first three follow from the
// rest, or from the run of `unlimited`, which each side compares by itself.
constexpr std::array<std::string_view, 16> kReadByName = {
    "not_repeated", "pattern_misfits", "uncertainty", "slowdown_thousandths",
    "schema",       "uvmsim_version",  "trace",       "limit",
    "policies",     "plugins",         "counters",    "iterations",
    "settled",      "unlimited",       "bounds",      "system"};
// Counters that are split by cause: their sums are metrics, too.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kSummed = {{
    {"htod_", "_bytes"},
    {"htod_", "_transactions"},
    {"dtoh_", "_bytes"},
    {"dtoh_", "_transactions"},
}};

// Texts for tables have one line.
std::string text(const JsonValue& value) { return plain_text(value.text()); }
std::string scalar_text(const JsonValue& value) {
  const Json& json = value.json();
  return plain_text(json.is_string() ? json.get<std::string>()
                                     : json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

class RunViewReader {
 public:
  RunViewReader(const Json& result, const std::string& origin) : result_(result, origin) { view_.origin = origin; }

  RunView read() {
    if (!result_.json().is_object()) result_.fail("is no result: not an object");
    result_.at("schema").word({report::kResultSchema});
    view_.provenance.emplace_back("uvmsim", text(result_.at("uvmsim_version")));
    read_trace();
    view_.identity.emplace_back("system", text(result_.at("system").at("name")));
    read_limit();
    read_policies();
    read_plugins();
    read_other_members();
    const JsonValue settled = result_.at("settled");
    const bool has_settled = !settled.json().is_null();
    if (has_settled) {
      view_.metrics.emplace_back("settled_ns", settled.at("duration_ns").integer());
      if (const auto ideal = settled.find("ideal_ns")) {  // older results have none
        view_.metrics.emplace_back("settled_ideal_ns", ideal->integer());
      }
      const auto learning = settled.find("learning_iterations");  // null: not settled; older results have none
      if (learning && !learning->json().is_null()) {
        view_.metrics.emplace_back("learning_iterations", learning->integer());
      }
    }
    read_bounds();
    add_counters(result_.at("counters"), "");
    if (has_settled) add_counters(settled.at("counters"), "settled_");
    flatten(result_.at("system"), "system");
    std::ranges::stable_sort(view_.identity, {}, [](const auto& one) { return rank(one.first); });
    return std::move(view_);
  }

 private:
  void read_trace() {
    const JsonValue trace = result_.at("trace");
    view_.trace_name = text(trace.at("file"));
    view_.identity.emplace_back("trace", text(trace.at("sha256")));
    const JsonValue partial = trace.at("partial");
    if (partial.json() != false) view_.identity.emplace_back("trace.partial", scalar_text(partial));
  }

  void read_limit() {
    const JsonValue limit = result_.at("limit");
    switch (limit.at("by").word({"osf", "capacity", "none"})) {
      case 0:
        view_.identity.emplace_back("osf", report::format_factor(limit.at("osf_thousandths").integer()));
        break;
      case 1:
        view_.identity.emplace_back("capacity_bytes", fmt::format("{}", limit.at("capacity_bytes").integer()));
        break;
      default:
        view_.identity.emplace_back("osf", "none");
    }
    const JsonValue footprint = limit.at("footprint_bytes");
    if (!footprint.json().is_null()) view_.identity.emplace_back("footprint_bytes", scalar_text(footprint));
    if (const auto kind = limit.find("footprint")) view_.identity.emplace_back("footprint", text(*kind));
  }

  void read_policies() {
    const JsonValue policies = result_.at("policies");
    for (const auto& [slot, policy] : policies.members()) {
      view_.identity.emplace_back(plain_text(slot), text(policy.at("name")));
      flatten(policy.at("parameters"), plain_text(slot));
    }
    for (const policy::Slot slot : kPolicySlots) {
      const std::string name(policy::slot_name(slot));
      if (is_always_named(slot) || policies.has(name)) continue;
      view_.identity.emplace_back(name, driver_choice(slot).name);
    }
  }

  void read_plugins() {
    for (const JsonValue& plugin : result_.at("plugins").items("a list", 0)) {
      view_.provenance.emplace_back("plug-in " + text(plugin.at("file")), text(plugin.at("sha256")));
    }
  }

  // Bounds are results, not choices, as is the best of known policies. `distance` is between the bounds and the run.
  void read_bounds() {
    const auto bounds = result_.find("bounds");
    if (!bounds) return;
    add_numbers(*bounds, "bound_");
    if (const auto distance = bounds->find("distance")) add_numbers(*distance, "");
  }
  void add_numbers(const JsonValue& object, const std::string& prefix) {
    for (const auto& [key, value] : object.members()) {
      if (value.json().is_number()) view_.metrics.emplace_back(prefix + plain_text(key), value.integer());
    }
  }

  // Members that a later version adds are classified by name: numbers whose name ends in a unit are metrics, the rest
  // belongs to the identity.
  void read_other_members() {
    for (const auto& [key, value] : result_.members()) {
      if (std::ranges::find(kReadByName, key) != kReadByName.end()) continue;
      if (key == "command") continue;  // repeats the other members
      if (key.ends_with("_version") || key == "uvmsim_commit" || key == "system_sha256") {
        view_.provenance.emplace_back(plain_text(key), scalar_text(value));
        continue;
      }
      if (key == "time_scale" && value.json().is_object()) {  // its classes follow from the trace and the system
        for (const char* chosen : {"rule", "factor_millionths"}) {
          if (const auto at = value.find(chosen)) flatten(*at, std::string("time_scale.") + chosen);
        }
        continue;
      }
      const bool has_unit = key.ends_with("_ns") || key.ends_with("_bytes") || key.ends_with("_thousandths");
      if (has_unit && value.json().is_number()) {
        view_.metrics.emplace_back(plain_text(key), value.integer());
      } else {
        // The parameters of a choice belong to it: "layout.max_split_size".
        constexpr std::string_view kParameters = "_parameters";
        const bool parameters = key.ends_with(kParameters);
        flatten(value, plain_text(parameters ? key.substr(0, key.size() - kParameters.size()) : key));
      }
    }
  }

  // The usual order of describing a run.
  static int rank(std::string_view key) {
    static const std::vector<std::string_view> order = [] {
      std::vector<std::string_view> names = {"trace",          "system",          "layout",   "osf",
                                             "capacity_bytes", "footprint_bytes", "footprint"};
      for (const policy::Slot slot : kPolicySlots) names.push_back(policy::slot_name(slot));
      return names;
    }();
    if (key.starts_with("system.")) return 100;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (belongs_to(key, order[i])) return static_cast<int>(i);
    }
    return static_cast<int>(order.size());
  }

  void add_counters(const JsonValue& counters, const std::string& prefix) {
    const auto members = counters.members();
    for (const auto& [head, tail] : kSummed) {
      std::uint64_t sum = 0;
      for (const auto& [name, value] : members) {
        if (name.starts_with(head) && name.ends_with(tail)) sum += value.integer();
      }
      view_.metrics.emplace_back(fmt::format("{}{}{}", prefix, head.substr(0, head.size() - 1), tail), sum);
    }
    for (const auto& [name, value] : members) view_.metrics.emplace_back(prefix + plain_text(name), value.integer());
  }

  // Adds every scalar below `value` under its path; the name itself already stands for the whole.
  void flatten(const JsonValue& value, const std::string& path) {
    if (value.json().is_object()) {
      for (const auto& [key, inner] : value.members()) {
        if (path == "system" && (key == "name" || key == "description")) continue;
        flatten(inner, path + "." + plain_text(key));
      }
    } else if (value.json().is_array()) {
      const auto items = value.items("a list", 0);
      for (std::size_t i = 0; i < items.size(); ++i) flatten(items[i], fmt::format("{}.{}", path, i));
    } else if (!value.json().is_null()) {
      view_.identity.emplace_back(path, scalar_text(value));
    }
  }

  const JsonValue result_;
  RunView view_;
};

}  // namespace

std::string shown_text(const RunView& run, std::string_view key) {
  const std::string* text = find_named(run.identity, key);
  if (text == nullptr) return "-";
  return key == "trace" ? run.trace_name : *text;
}

bool belongs_to(std::string_view key, std::string_view other) {
  return key.starts_with(other) && (key.size() == other.size() || key[other.size()] == '.');
}

RunView view_of_result(const Json& result, const std::string& origin) { return RunViewReader(result, origin).read(); }

std::string full_text(const RunView& run, std::string_view key,
                      const std::function<bool(std::string_view inner)>& wanted) {
  std::string text = shown_text(run, key);
  if (key == "system" || key == "trace") return text;
  char separator = ':';
  for (const auto& [inner, value] : run.identity) {
    if (inner == key || !belongs_to(inner, key) || !wanted(inner)) continue;
    text += fmt::format("{}{}={}", separator, inner.substr(key.size() + 1), value);
    separator = ',';
  }
  return text;
}

std::string describe_run(const RunView& run, const std::function<bool(std::string_view key)>& wanted) {
  std::string description;
  for (const auto& [key, value] : run.identity) {
    const std::string owner = key.substr(0, key.find('.'));
    if (!wanted(key) || (owner != key && wanted(owner) && find_named(run.identity, owner) != nullptr)) continue;
    const std::string text = full_text(run, key, wanted);
    if (key == "trace") {
      description += text;
    } else if (key == "system" && !description.empty()) {
      description += " on " + text;
    } else {
      description += fmt::format("{}{} {}", description.empty() ? "" : ", ", key, text);
    }
  }
  return description;
}

}  // namespace uvmsim::compare
