#include "sim/sweep/axes.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "sim/common/error.h"
#include "sim/common/units.h"
#include "sim/config/json_file.h"
#include "sim/policy/registry.h"
#include "sim/report/numbers.h"
#include "sim/sweep/spec.h"
#include "sim/sweep/values.h"

namespace uvmsim::sweep {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const Place& place, const Json& value, std::string_view allowed) {
  throw_input_error("{}: {} is not allowed; allowed: {}", place.text(), config::json_excerpt(value), allowed);
}

std::string text_of(const Json& value, const Place& place, std::string_view allowed) {
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) refuse(place, value, allowed);
  return value.get<std::string>();
}

// One value or a list of them; no value twice, as that is a slip of the pen.
template <class Read>
void for_each_value(const Json& value, const Place& place, Read&& read) {
  if (!value.is_array()) {
    read(value, place);
    return;
  }
  if (value.empty()) throw_input_error("{}: is an empty list; allowed: at least one value", place.text());
  std::set<std::reference_wrapper<const Json>, std::less<Json>> known;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const Place item = place / std::to_string(i);
    if (!known.insert(value[i]).second) {
      throw_input_error("{}: {} is there twice", item.text(), config::json_excerpt(value[i]));
    }
    read(value[i], item);
  }
}

template <class Value, class Read>
void read_list(const Json& value, const Place& place, std::vector<Value>& out, Read&& read) {
  out.clear();
  for_each_value(value, place, [&](const Json& item, const Place& where) { out.push_back(read(item, where)); });
}

// The digits as the file has them, for the readers of option values.
std::string number_text(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// Before they are made.
void check_combinations(std::uint64_t count, const Place& place) {
  constexpr std::uint64_t kMost = 100'000;
  if (count > kMost) throw_input_error("{}: {} combinations; allowed: at most {}", place.text(), count, kMost);
}

// --- paths -----------------------------------------------------------------------------------------------------------

std::string absolute(const std::string& path, const Place& place) {
  return fs::absolute(place.folder / path).lexically_normal().string();
}

bool is_pattern(const std::string& text) { return text.find_first_of("*?[") != std::string::npos; }

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  const int status = ::glob(pattern.c_str(), 0, nullptr, &found);  // sorted
  std::vector<std::string> paths;
  if (status == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

void read_traces(const Json& value, const Place& place, Axes& axes) {
  axes.traces.clear();
  for_each_value(value, place, [&](const Json& item, const Place& where) {
    const std::string text = text_of(item, where, "the path of a trace, or a pattern");
    const std::string path = absolute(text, where);
    std::vector<std::string> paths{path};
    std::error_code ignored;
    if (is_pattern(text) && !fs::exists(path, ignored)) paths = matches(path);
    if (paths.empty()) throw_input_error("{}: '{}' matches no file", where.text(), text);
    for (const std::string& one : paths) {
      if (std::find(axes.traces.begin(), axes.traces.end(), one) == axes.traces.end()) axes.traces.push_back(one);
    }
  });
}

std::string read_system(const Json& value, const Place& place) {
  const std::string text = text_of(value, place, "the name of a system, or its file");
  const bool is_path = text.find('/') != std::string::npos || text.ends_with(".json");
  return is_path ? absolute(text, place) : text;
}

// --- settings --------------------------------------------------------------------------------------------------------

std::string setting_text(const Json& value, const Place& place) {
  if (value.is_boolean() || value.is_number_integer()) return value.dump();
  return text_of(value, place, R"(a whole number, a text with a unit such as "6 us", or true or false)");
}

// {"key": value or list, ...}: every combination.
void read_settings_of(const Json& object, const Place& place, std::vector<std::vector<std::string>>& out) {
  if (!object.is_object()) refuse(place, object, R"(an object such as {"costs.batch_ns": [6000, 7000]})");
  std::vector<std::vector<std::string>> combinations{{}};
  for (const auto& [key, value] : object.items()) {
    std::vector<std::string> values;
    read_list(value, place / key, values, setting_text);
    check_combinations(combinations.size() * values.size(), place);
    std::vector<std::vector<std::string>> longer;
    for (const auto& combination : combinations) {
      for (const std::string& text : values) {
        longer.push_back(combination);
        longer.back().push_back(key + "=" + text);
      }
    }
    combinations = std::move(longer);
  }
  out.insert(out.end(), combinations.begin(), combinations.end());
}

void read_settings(const Json& value, const Place& place, Axes& axes) {
  axes.settings.clear();
  for_each_value(value, place,
                 [&](const Json& item, const Place& where) { read_settings_of(item, where, axes.settings); });
}

// --- limits ----------------------------------------------------------------------------------------------------------

std::uint64_t read_size(const Json& value, const Place& place, std::uint64_t minimum) {
  constexpr const char* kAllowed = R"(a number of bytes, or a text with a unit such as "12GiB")";
  if (!value.is_number_unsigned() && !value.is_string()) refuse(place, value, kAllowed);
  const std::uint64_t bytes = parse_size(place.text(), number_text(value));
  if (bytes < minimum) {
    throw_input_error("{}: {} is too small; allowed: at least {} bytes", place.text(), config::json_excerpt(value),
                      minimum);
  }
  return bytes;
}

void read_osf(const Json& value, const Place& place, Axes& axes) {
  read_list(value, place, axes.osf, [](const Json& item, const Place& where) {
    if (item == "none") return Limit{};
    if (!item.is_number() && !item.is_string()) refuse(where, item, R"("none", or a factor such as 1.25)");
    return Limit{parse_osf(where.text(), number_text(item)), 0};
  });
}

void read_capacities(const Json& value, const Place& place, Axes& axes) {
  read_list(value, place, axes.capacities, [](const Json& item, const Place& where) {
    return Limit{0, read_size(item, where, kBlockBytes)};
  });
}

void read_footprints(const Json& value, const Place& place, Axes& axes) {
  read_list(value, place, axes.footprints,
            [](const Json& item, const Place& where) { return item == "measured" ? 0 : read_size(item, where, 1); });
}

// --- policies --------------------------------------------------------------------------------------------------------

std::string parameter_text(const Json& value, const Place& place) {
  if (value.is_boolean() || value.is_number()) return value.dump();
  return text_of(value, place, "a number, a text, or true or false");
}

// "tree:threshold=51", or {"name": "tree", "parameters": {"threshold": [51, 75]}}: every combination.
void read_policy(const Json& value, const Place& place, std::vector<PolicyChoice>& out) {
  if (value.is_string()) {
    out.push_back(parse_policy(place.text(), value.get<std::string>()));
    return;
  }
  constexpr const char* kAllowed = R"(a text such as "tree:threshold=51", or {"name": ..., "parameters": {...}})";
  if (!value.is_object() || !value.contains("name")) refuse(place, value, kAllowed);
  std::vector<PolicyChoice> choices{{text_of(value["name"], place / "name", "the name of a policy"), {}}};
  for (const auto& [key, member] : value.items()) {
    if (key == "name") continue;
    if (key != "parameters") {
      throw_input_error("{}: unknown key '{}'; allowed: name, parameters", place.text(), key);
    }
    const Place where = place / key;
    if (!member.is_object()) refuse(where, member, R"(an object such as {"threshold": [51, 75]})");
    for (const auto& [name, values] : member.items()) {
      std::vector<std::string> texts;
      read_list(values, where / name, texts, parameter_text);
      check_combinations(choices.size() * texts.size(), where);
      std::vector<PolicyChoice> longer;
      for (const PolicyChoice& choice : choices) {
        for (const std::string& text : texts) {
          longer.push_back(choice);
          longer.back().parameters.emplace_back(name, text);
        }
      }
      choices = std::move(longer);
    }
  }
  out.insert(out.end(), choices.begin(), choices.end());
}

void read_policies(const Json& value, const Place& place, std::vector<PolicyChoice>& out) {
  out.clear();
  for_each_value(value, place, [&](const Json& item, const Place& where) { read_policy(item, where, out); });
}

// --- the rest --------------------------------------------------------------------------------------------------------

void read_layouts(const Json& value, const Place& place, Axes& axes) {
  read_list(value, place, axes.layouts,
            [](const Json& item, const Place& where) { return text_of(item, where, "the name of a layout"); });
}

void read_systems(const Json& value, const Place& place, Axes& axes) {
  read_list(value, place, axes.systems, read_system);
}

void read_plugins(const Json& value, const Place& place, Axes& axes) {
  read_list(value, place, axes.plugins, [](const Json& item, const Place& where) {
    return absolute(text_of(item, where, "the path of a shared library"), where);
  });
}

void read_seeds(const Json& value, const Place& place, Axes& axes) {
  static constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();  // what a database column holds
  read_list(value, place, axes.seeds, [](const Json& item, const Place& where) {
    if (!item.is_number_unsigned() || item.get<std::uint64_t>() > kLargest) {
      refuse(where, item, fmt::format("a whole number from 0 to {}", kLargest));
    }
    return item.get<std::uint64_t>();
  });
}

void read_iterations(const Json& value, const Place& place, Axes& axes) {
  read_list(value, place, axes.iterations, [](const Json& item, const Place& where) -> std::uint64_t {
    if (item == "recorded") return 0;
    if (!item.is_number_unsigned()) refuse(where, item, R"("recorded", or a number of iterations such as 10)");
    return parse_iterations(where.text(), item.dump());
  });
}

void read_time_scales(const Json& value, const Place& place, Axes& axes) {
  read_list(value, place, axes.time_scales, [](const Json& item, const Place& where) {
    if (!item.is_number() && !item.is_string()) refuse(where, item, R"("auto", or a factor such as 1.25)");
    return parse_time_scale(where.text(), number_text(item));
  });
}

bool read_boolean(const Json& value, const Place& place) {
  if (!value.is_boolean()) refuse(place, value, "true or false");
  return value.get<bool>();
}

bool read_footprint(const Json& value, const Place& place) {
  if (value != "allocated" && value != "touched") refuse(place, value, R"("allocated" or "touched")");
  return value == "touched";
}

void read_host_gaps(const Json& value, const Place& place, Axes& axes) {
  read_list(value, place, axes.host_gaps, read_boolean);
}

// --- schemas ---------------------------------------------------------------------------------------------------------

Json one_or_list(const Json& item) {
  return {{"anyOf", {item, {{"type", "array"}, {"items", item}, {"minItems", 1}, {"uniqueItems", true}}}}};
}
Json typed(const char* type) { return {{"type", type}}; }
Json texts_schema() { return one_or_list(typed("string")); }
Json any_of(std::initializer_list<Json> choices) { return {{"anyOf", Json::array_t(choices)}}; }
Json constant(const char* text) { return {{"const", text}}; }
Json whole(std::uint64_t minimum) { return {{"type", "integer"}, {"minimum", minimum}}; }
Json osf_schema() {
  return one_or_list(any_of({constant("none"), {{"type", "number"}, {"exclusiveMinimum", 0}}, typed("string")}));
}
Json sizes_schema() { return one_or_list(any_of({whole(1), typed("string")})); }
Json scalars_schema() { return one_or_list({{"type", {"integer", "number", "string", "boolean"}}}); }
Json settings_schema() { return one_or_list({{"type", "object"}, {"additionalProperties", scalars_schema()}}); }
Json policies_schema() {
  const Json object = {
      {"type", "object"},
      {"properties",
       {{"name", typed("string")}, {"parameters", {{"type", "object"}, {"additionalProperties", scalars_schema()}}}}},
      {"required", {"name"}},
      {"additionalProperties", false}};
  return one_or_list(any_of({typed("string"), object}));
}
Json seeds_schema() { return one_or_list(whole(0)); }
Json iterations_schema() { return one_or_list(any_of({constant("recorded"), whole(1)})); }
Json time_scales_schema() {
  return one_or_list(any_of({constant("auto"), {{"type", "number"}, {"exclusiveMinimum", 0}}, typed("string")}));
}
Json booleans_schema() { return one_or_list(typed("boolean")); }

}  // namespace

const std::vector<AxisKey>& axis_keys() {
  static const std::vector<AxisKey> keys = [] {
    std::vector<AxisKey> all = {
        {"traces", "traces: paths relative to this file; *, ? and [...] match names", read_traces, texts_schema},
        {"systems", "GPU servers: names, or files relative to this one", read_systems, texts_schema},
        {"settings",
         "changes of the system: {\"costs.batch_ns\": [6000, 7000]} crosses its lists; a list of such objects holds "
         "alternatives",
         read_settings, settings_schema},
        {"layouts", "where memory lies; default recorded", read_layouts, texts_schema},
        {"osf", "oversubscription factors, and \"none\" for no limit; default none", read_osf, osf_schema},
        {"capacity_bytes", "GPU memory for managed data, beside the factors of osf", read_capacities, sizes_schema},
        {"footprint_bytes", "what the factors divide; default \"measured\"", read_footprints, sizes_schema},
    };
    for (const policy::Slot slot : kPolicySlots) {
      all.push_back({policy::slot_name(slot), slot_axis_help(slot),
                     [slot](const Json& value, const Place& place, Axes& axes) {
                       axes.policies[slot].clear();
                       read_policies(value, place, axes.policies[slot]);
                     },
                     policies_schema});
    }
    const std::vector<AxisKey> rest = {
        {"plugins",
         "shared libraries with policies, relative to this file; all are loaded for every point; "
         "\"mine.so@sha256:<64 digits>\" only if it is that file",
         read_plugins, texts_schema},
        {"seeds", "seeds of policies that draw random numbers; default 1", read_seeds, seeds_schema},
        {"iterations", "how many marked iterations to run; default \"recorded\"", read_iterations, iterations_schema},
        {"until_settled", "end a run when it has settled: iterations are the most that run; default false",
         [](const Json& value, const Place& place, Axes& axes) { axes.until_settled = read_boolean(value, place); },
         [] { return typed("boolean"); }},
        {"time_scale", "factors of kernel durations; default \"auto\"", read_time_scales, time_scales_schema},
        {"recorded_on", "system whose GPU made the recordings, if their headers do not tell",
         [](const Json& value, const Place& place, Axes& axes) { axes.recorded_on = read_system(value, place); },
         [] { return typed("string"); }},
        {"host_gaps", "whether to replay the recorded host time between calls; default true", read_host_gaps,
         booleans_schema},
        {"partial", "of traces that are cut off, use what is whole; default false",
         [](const Json& value, const Place& place, Axes& axes) { axes.partial = read_boolean(value, place); },
         [] { return typed("boolean"); }},
        {"footprint", "what the factors divide: memory that is \"allocated\" (default) or \"touched\"",
         [](const Json& value, const Place& place, Axes& axes) {
           axes.touched_footprint = read_footprint(value, place);
         },
         [] {
           return any_of({constant("allocated"), constant("touched")});
         }},
        {"hypothetical_capacity", "allow a limit of more memory than the GPU has; default false",
         [](const Json& value, const Place& place, Axes& axes) {
           axes.hypothetical_capacity = read_boolean(value, place);
         },
         [] { return typed("boolean"); }},
        {"bounds", "also the lower bounds, and how far every run is from the best one; default false",
         [](const Json& value, const Place& place, Axes& axes) { axes.bounds = read_boolean(value, place); },
         [] { return typed("boolean"); }},
    };
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }();
  return keys;
}

namespace {

const std::vector<PolicyChoice>& policies_of(const Axes& axes, policy::Slot slot) {
  static const std::map<policy::Slot, std::vector<PolicyChoice>> drivers = [] {
    std::map<policy::Slot, std::vector<PolicyChoice>> all;
    for (const policy::Slot each : kPolicySlots) all[each] = {driver_choice(each)};
    return all;
  }();
  const auto given = axes.policies.find(slot);
  return given != axes.policies.end() ? given->second : drivers.at(slot);
}

// Every combination, the last slot varying fastest.
std::vector<PolicyChoices> policy_combinations(const Axes& axes) {
  std::vector<PolicyChoices> combinations{{}};
  for (const policy::Slot slot : kPolicySlots) {
    std::vector<PolicyChoices> longer;
    for (PolicyChoices& choices : combinations) {
      for (const PolicyChoice& choice : policies_of(axes, slot)) {
        choices.*choice_of(slot) = choice;
        longer.push_back(choices);
      }
    }
    combinations = std::move(longer);
  }
  return combinations;
}

}  // namespace

void append_points(const Axes& axes, const Place& place, std::vector<Point>& points) {
  std::vector<Limit> limits = axes.osf;
  limits.insert(limits.end(), axes.capacities.begin(), axes.capacities.end());
  if (limits.empty()) limits.push_back({});
  std::vector<std::size_t> sizes = {axes.traces.size(),    axes.systems.size(),    axes.settings.size(),
                                    axes.layouts.size(),   axes.iterations.size(), axes.time_scales.size(),
                                    axes.host_gaps.size(), axes.seeds.size(),      axes.footprints.size(),
                                    limits.size()};
  for (const policy::Slot slot : kPolicySlots) sizes.push_back(policies_of(axes, slot).size());
  std::uint64_t count = points.size();
  std::uint64_t product = 1;
  for (const std::size_t size : sizes) {
    product *= size;
    if (count + product > kLargestSweep) {
      throw_input_error("{}: more than {} points", place.text(), kLargestSweep);
    }
  }
  points.reserve(count + product);

  Point point;
  point.partial = axes.partial;
  point.bounds = axes.bounds;
  point.until_settled = axes.until_settled;
  point.hypothetical_capacity = axes.hypothetical_capacity;
  point.plugins = axes.plugins;
  point.recorded_on = axes.recorded_on;
  const std::vector<PolicyChoices> policies = policy_combinations(axes);
  // One level per axis; the last one adds the point.
  const auto over = [](const auto& values, auto& member, auto&& inner) {
    for (const auto& value : values) {
      member = value;
      inner();
    }
  };
  const auto add_limits = [&] {
    for (const std::uint64_t footprint : axes.footprints) {
      for (const Limit& limit : limits) {
        point.osf_thousandths = limit.osf_thousandths;
        point.capacity_bytes = limit.capacity_bytes;
        // Only a factor divides it: without one the points are the same, and collapse.
        point.footprint_bytes = limit.osf_thousandths != 0 ? footprint : 0;
        // Without a limit it divides nothing either.
        point.touched_footprint = axes.touched_footprint && (limit.osf_thousandths != 0 || limit.capacity_bytes != 0);
        check_footprint(point, (place / "footprint").text());
        points.push_back(point);
      }
    }
  };
  over(axes.traces, point.trace, [&] {
    over(axes.systems, point.system, [&] {
      over(axes.settings, point.settings, [&] {
        over(axes.layouts, point.layout, [&] {
          over(axes.iterations, point.iterations, [&] {
            check_until_settled(point, (place / "until_settled").text());
            over(axes.time_scales, point.time_scale_millionths, [&] {
              over(axes.host_gaps, point.include_host_gaps, [&] {
                over(policies, static_cast<PolicyChoices&>(point), [&] { over(axes.seeds, point.seed, add_limits); });
              });
            });
          });
        });
      });
    });
  });
}

}  // namespace uvmsim::sweep
