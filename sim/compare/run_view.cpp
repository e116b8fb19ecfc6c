#include "sim/compare/run_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "sim/common/error.h"
#include "sim/config/json_text.h"
#include "sim/config/printable.h"
#include "sim/engine/policy_choices.h"
#include "sim/policy/registry.h"
#include "sim/report/numbers.h"
#include "sim/report/result_json.h"

namespace uvmsim::compare {
namespace {

using Json = nlohmann::ordered_json;
using config::printable;

// Members that say how to read the result, or that this file takes apart by themselves.
constexpr std::array<std::string_view, 12> kReadByName = {"schema",   "uvmsim_version", "trace",    "limit",
                                                          "policies", "plugins",        "counters", "iterations",
                                                          "settled",  "unlimited",      "bounds",   "system"};
// Counters that are split by cause: their sums are metrics, too.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kSummed = {{
    {"htod_", "_bytes"},
    {"htod_", "_transactions"},
    {"dtoh_", "_bytes"},
    {"dtoh_", "_transactions"},
}};

// Reads one result; every message starts with where it stands.
class RunViewReader {
 public:
  RunViewReader(const Json& result, const std::string& origin) : result_(result), origin_(origin) {
    view_.origin = origin;
  }

  RunView read() {
    if (!result_.is_object()) refuse("is no result: not an object");
    const std::string schema = text(member(result_, "schema", ""), "/schema");
    if (schema != report::kResultSchema) {
      refuse("/schema: '{}' cannot be read; allowed: {}", printable(schema), report::kResultSchema);
    }
    view_.provenance.emplace_back("uvmsim", text(member(result_, "uvmsim_version", ""), "/uvmsim_version"));
    read_trace();
    view_.identity.emplace_back("system",
                                text(member(member(result_, "system", ""), "name", "/system"), "/system/name"));
    read_limit();
    read_policies();
    read_plugins();
    read_other_members();
    const Json& settled = member(result_, "settled", "");
    if (!settled.is_null()) {
      view_.metrics.emplace_back("settled_ns",
                                 number(member(settled, "duration_ns", "/settled"), "/settled/duration_ns"));
      if (const auto ideal = settled.find("ideal_ns"); ideal != settled.end()) {  // older results have none
        view_.metrics.emplace_back("settled_ideal_ns", number(*ideal, "/settled/ideal_ns"));
      }
      const auto learning = settled.find("learning_iterations");  // null: not settled; older results have none
      if (learning != settled.end() && !learning->is_null()) {
        view_.metrics.emplace_back("learning_iterations", number(*learning, "/settled/learning_iterations"));
      }
    }
    read_bounds();
    add_counters(member(result_, "counters", ""), "/counters", "");
    if (!settled.is_null()) add_counters(member(settled, "counters", "/settled"), "/settled/counters", "settled_");
    flatten(member(result_, "system", ""), "system");
    std::stable_sort(view_.identity.begin(), view_.identity.end(),
                     [](const auto& a, const auto& b) { return rank(a.first) < rank(b.first); });
    return std::move(view_);
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    throw_input_error("{}: {}", origin_, fmt::format(format, std::forward<Args>(args)...));
  }
  const Json& member(const Json& object, const char* key, std::string_view where) const {
    if (!object.is_object()) refuse("{}: is not an object", where);
    const auto found = object.find(key);
    if (found == object.end()) refuse("{}/{}: is missing", where, key);
    return *found;
  }
  std::string text(const Json& value, std::string_view where) const {
    if (!value.is_string()) refuse("{}: is not a string", where);
    return one_line(value.get<std::string>());
  }
  std::uint64_t number(const Json& value, std::string_view where) const {
    const bool negative = value.is_number_integer() && !value.is_number_unsigned() && value.get<std::int64_t>() < 0;
    if (!value.is_number_integer() || negative) refuse("{}: is not a whole number of at least 0", where);
    return value.get<std::uint64_t>();
  }
  // Texts reach tables: one line each.
  static std::string scalar_text(const Json& value) {
    if (value.is_string()) return one_line(value.get<std::string>());
    return one_line(value.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  void read_trace() {
    const Json& trace = member(result_, "trace", "");
    view_.trace_name = text(member(trace, "file", "/trace"), "/trace/file");
    view_.identity.emplace_back("trace", text(member(trace, "sha256", "/trace"), "/trace/sha256"));
    const Json& partial = member(trace, "partial", "/trace");
    if (partial != false) view_.identity.emplace_back("trace.partial", scalar_text(partial));
  }

  void read_limit() {
    const Json& limit = member(result_, "limit", "");
    const std::string by = text(member(limit, "by", "/limit"), "/limit/by");
    if (by == "osf") {
      const std::uint64_t osf = number(member(limit, "osf_thousandths", "/limit"), "/limit/osf_thousandths");
      view_.identity.emplace_back("osf", report::format_factor(osf));
    } else if (by == "capacity") {
      const std::uint64_t bytes = number(member(limit, "capacity_bytes", "/limit"), "/limit/capacity_bytes");
      view_.identity.emplace_back("capacity_bytes", fmt::format("{}", bytes));
    } else if (by == "none") {
      view_.identity.emplace_back("osf", "none");
    } else {
      refuse("/limit/by: '{}' is unknown; allowed: osf, capacity, none", printable(by));
    }
    const Json& footprint = member(limit, "footprint_bytes", "/limit");
    if (!footprint.is_null()) view_.identity.emplace_back("footprint_bytes", scalar_text(footprint));
    if (const auto kind = limit.find("footprint"); kind != limit.end()) {
      view_.identity.emplace_back("footprint", text(*kind, "/limit/footprint"));
    }
  }

  void read_policies() {
    const Json& policies = member(result_, "policies", "");
    if (!policies.is_object()) refuse("/policies: is not an object");
    for (const auto& [slot, policy] : policies.items()) {
      const std::string where = "/policies/" + printable(slot);
      view_.identity.emplace_back(one_line(slot), text(member(policy, "name", where), where + "/name"));
      flatten(member(policy, "parameters", where), one_line(slot));
    }
    for (const policy::Slot slot : kPolicySlots) {
      const std::string name(policy::slot_name(slot));
      if (is_always_named(slot) || policies.contains(name)) continue;
      view_.identity.emplace_back(name, driver_choice(slot).name);
    }
  }

  void read_plugins() {
    const Json& plugins = member(result_, "plugins", "");
    if (!plugins.is_array()) refuse("/plugins: is not a list");
    for (const Json& plugin : plugins) {
      view_.provenance.emplace_back("plug-in " + text(member(plugin, "file", "/plugins"), "/plugins/file"),
                                    text(member(plugin, "sha256", "/plugins"), "/plugins/sha256"));
    }
  }

  // Bounds are found, not chosen, the best of known policies too. What lies between them and the run: `distance`.
  void read_bounds() {
    const auto bounds = result_.find("bounds");
    if (bounds == result_.end()) return;
    add_numbers(*bounds, "/bounds", "bound_");
    if (const auto distance = bounds->find("distance"); distance != bounds->end()) {
      add_numbers(*distance, "/bounds/distance", "");
    }
  }
  void add_numbers(const Json& object, const std::string& where, const std::string& prefix) {
    if (!object.is_object()) refuse("{}: is not an object", where);
    for (const auto& [key, value] : object.items()) {
      if (value.is_number()) {
        view_.metrics.emplace_back(prefix + one_line(key), number(value, where + "/" + printable(key)));
      }
    }
  }

  // What a later version adds is sorted by the rule of names: numbers that end in a unit were found, the rest was
  // chosen.
  void read_other_members() {
    for (const auto& [key, value] : result_.items()) {
      if (std::find(kReadByName.begin(), kReadByName.end(), key) != kReadByName.end()) continue;
      if (key == "command") continue;  // says what the rest says
      if (key.ends_with("_version") || key == "uvmsim_commit" || key == "system_sha256") {
        view_.provenance.emplace_back(one_line(key), scalar_text(value));
        continue;
      }
      if (key == "time_scale" && value.is_object()) {  // its classes follow from the trace and the system
        for (const char* chosen : {"rule", "factor_millionths"}) {
          if (const auto at = value.find(chosen); at != value.end() && !at->is_null()) {
            flatten(*at, std::string("time_scale.") + chosen);
          }
        }
        continue;
      }
      const bool has_unit = key.ends_with("_ns") || key.ends_with("_bytes") || key.ends_with("_thousandths");
      if (has_unit && value.is_number()) {
        view_.metrics.emplace_back(one_line(key), number(value, "/" + printable(key)));
      } else {
        // The parameters of a choice belong to it: "layout.max_split_size".
        constexpr std::string_view kParameters = "_parameters";
        const bool parameters = key.ends_with(kParameters);
        flatten(value, one_line(parameters ? key.substr(0, key.size() - kParameters.size()) : key));
      }
    }
  }

  // The order in which people name a run.
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

  void add_counters(const Json& counters, const std::string& where, const std::string& prefix) {
    if (!counters.is_object()) refuse("{}: is not an object", where);
    for (const auto& [head, tail] : kSummed) {
      std::uint64_t sum = 0;
      for (const auto& [name, value] : counters.items()) {
        if (name.starts_with(head) && name.ends_with(tail)) sum += number(value, where + "/" + printable(name));
      }
      view_.metrics.emplace_back(fmt::format("{}{}{}", prefix, head.substr(0, head.size() - 1), tail), sum);
    }
    for (const auto& [name, value] : counters.items()) {
      view_.metrics.emplace_back(prefix + one_line(name), number(value, where + "/" + printable(name)));
    }
  }

  // Every scalar below `value` under its path; the name itself stands for the whole already.
  void flatten(const Json& value, const std::string& path) {
    if (value.is_object()) {
      for (const auto& [key, inner] : value.items()) {
        if (path == "system" && (key == "name" || key == "description")) continue;
        flatten(inner, path + "." + one_line(key));
      }
    } else if (value.is_array()) {
      for (std::size_t i = 0; i < value.size(); ++i) flatten(value[i], fmt::format("{}.{}", path, i));
    } else if (!value.is_null()) {
      view_.identity.emplace_back(path, scalar_text(value));
    }
  }

  const Json& result_;
  const std::string& origin_;
  RunView view_;
};

}  // namespace

const std::string* find_text(const NamedTexts& texts, std::string_view key) {
  for (const auto& [name, text] : texts) {
    if (name == key) return &text;
  }
  return nullptr;
}

std::optional<std::uint64_t> RunView::metric(std::string_view name) const {
  for (const auto& [known, value] : metrics) {
    if (known == name) return value;
  }
  return std::nullopt;
}

std::string shown_text(const RunView& run, std::string_view key) {
  const std::string* text = find_text(run.identity, key);
  if (text == nullptr) return "-";
  return key == "trace" ? run.trace_name : *text;
}

bool belongs_to(std::string_view key, std::string_view other) {
  return key.starts_with(other) && (key.size() == other.size() || key[other.size()] == '.');
}

RunView view_of_result(const Json& result, const std::string& origin) { return RunViewReader(result, origin).read(); }

RunView view_of_result_text(std::string_view text, const std::string& origin) {
  const Json result = config::parse_or_discard<Json>(text);
  if (result.is_discarded()) throw_input_error("{}: is not JSON", origin);
  return view_of_result(result, origin);
}

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
    if (!wanted(key) || (owner != key && wanted(owner) && find_text(run.identity, owner) != nullptr)) continue;
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
