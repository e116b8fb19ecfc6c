// SPDX-License-Identifier: Apache-2.0
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
#include "sim/policy/registry.h"
#include "sim/report/numbers.h"
#include "sim/sweep/scenario.h"
#include "sim/sweep/spec.h"
#include "sim/sweep/values.h"

namespace uvmsim::sweep {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Reads a value or a list of values. A repeated value is refused as a probable mistake.
template <class Read>
void for_each_value(const JsonValue& value, Read&& read) {
  std::set<std::reference_wrapper<const Json>, std::less<Json>> known;
  for (const JsonValue& item : value.one_or_items()) {
    if (!known.insert(item.json()).second) item.fail("{} is there twice", json_excerpt(item.json()));
    read(item);
  }
}

template <class Value, class Read>
void read_list(const JsonValue& value, std::vector<Value>& out, Read&& read) {
  out.clear();
  for_each_value(value, [&](const JsonValue& item) { out.push_back(read(item)); });
}

// Reads the list of an axis: `kRead` returns the element for each value, or appends elements itself.
template <auto kMember, auto kRead>
void read_axis(const JsonValue& value, Axes& axes) {
  auto& list = axes.*kMember;
  list.clear();
  for_each_value(value, [&](const JsonValue& item) {
    if constexpr (requires { list.push_back(kRead(item)); }) {
      list.push_back(kRead(item));
    } else {
      kRead(item, list);
    }
  });
}

// Reads a key that is true or false for all points.
template <bool Axes::*kMember>
void read_switch(const JsonValue& value, Axes& axes) {
  axes.*kMember = value.boolean();
}

// Returns a number's digits as in the file, for the parsers of option values; a text is returned unchanged.
std::string number_text(const JsonValue& value, std::string_view allowed) {
  if (value.json().is_string()) return value.text();
  if (!value.json().is_number()) value.refuse(allowed);
  return value.json().dump();
}

// Refuses too many combinations before they are built.
void check_combinations(std::uint64_t count, const JsonValue& value) {
  constexpr std::uint64_t kMost = 100'000;
  if (count > kMost) value.fail("{} combinations; allowed: at most {}", count, kMost);
}

// Combines every choice made so far with every value of `key`; `add(choice, value)` changes one choice.
template <class Choice, class Add>
void cross(std::vector<Choice>& choices, const std::vector<std::string>& values, const JsonValue& place, Add&& add) {
  check_combinations(choices.size() * values.size(), place);
  std::vector<Choice> longer;
  for (const Choice& choice : choices) {
    for (const std::string& value : values) add(longer.emplace_back(choice), value);
  }
  choices = std::move(longer);
}

// --- paths -----------------------------------------------------------------------------------------------------------

std::string absolute(const std::string& path, const JsonValue& place) {
  return fs::absolute(place.folder() / path).lexically_normal().string();
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

// Adds the files that a path or pattern matches, each once, in the order of the file.
void add_files(const JsonValue& item, const char* what, std::vector<std::string>& files) {
  const std::string text = item.filled_text(fmt::format("the path of a {}, or a pattern", what));
  const std::string path = absolute(text, item);
  std::vector<std::string> paths{path};
  std::error_code ignored;
  if (is_pattern(text) && !fs::exists(path, ignored)) paths = matches(path);
  if (paths.empty()) item.fail("'{}' matches no file", text);
  for (const std::string& one : paths) {
    if (std::find(files.begin(), files.end(), one) == files.end()) files.push_back(one);
  }
}
void add_traces(const JsonValue& item, std::vector<std::string>& files) { add_files(item, "trace", files); }
void add_scenarios(const JsonValue& item, std::vector<std::string>& files) { add_files(item, "scenario", files); }

std::string read_plugin(const JsonValue& value) {
  return absolute(value.filled_text("the path of a shared library"), value);
}

std::string read_system(const JsonValue& value) {
  const std::string text = value.filled_text("the name of a system, or its file");
  const bool is_path = text.find('/') != std::string::npos || text.ends_with(".json");
  return is_path ? absolute(text, value) : text;
}

// --- settings --------------------------------------------------------------------------------------------------------

std::string setting_text(const JsonValue& value) {
  if (value.json().is_boolean() || value.json().is_number_integer()) return value.json().dump();
  return value.filled_text(R"(a whole number, a text with a unit such as "6 us", or true or false)");
}

// Reads {"key": value or list, ...} and adds every combination.
void add_settings(const JsonValue& object, std::vector<std::vector<std::string>>& out) {
  if (!object.json().is_object()) object.refuse(R"(an object such as {"costs.batch_ns": [6000, 7000]})");
  std::vector<std::vector<std::string>> combinations{{}};
  for (const auto& [key, value] : object.members()) {
    std::vector<std::string> values;
    read_list(value, values, setting_text);
    cross(combinations, values, object,
          [&key = key](auto& combination, const std::string& text) { combination.push_back(key + "=" + text); });
  }
  out.insert(out.end(), combinations.begin(), combinations.end());
}

// --- limits ----------------------------------------------------------------------------------------------------------

std::uint64_t read_size(const JsonValue& value, std::uint64_t minimum) {
  constexpr const char* kAllowed = R"(a number of bytes, or a text with a unit such as "12GiB")";
  if (!value.json().is_number_unsigned() && !value.json().is_string()) value.refuse(kAllowed);
  const std::uint64_t bytes = parse_size(value.where(), number_text(value, kAllowed));
  if (bytes < minimum) value.fail("{} is too small; allowed: at least {} bytes", json_excerpt(value.json()), minimum);
  return bytes;
}

Limit read_factor(const JsonValue& value) {
  if (value.json() == "none") return {};
  return {parse_osf(value.where(), number_text(value, R"("none", or a factor such as 1.25)")), 0};
}
Limit read_capacity(const JsonValue& value) { return {0, read_size(value, kBlockBytes)}; }
std::uint64_t read_footprint(const JsonValue& value) { return value.json() == "measured" ? 0 : read_size(value, 1); }

// --- policies --------------------------------------------------------------------------------------------------------

std::string parameter_text(const JsonValue& value) {
  if (value.json().is_boolean() || value.json().is_number()) return value.json().dump();
  return value.filled_text("a number, a text, or true or false");
}

// Reads "tree:threshold=51", or {"name": "tree", "parameters": {"threshold": [51, 75]}} with every combination.
void add_policies(const JsonValue& value, std::vector<PolicyChoice>& out) {
  if (value.json().is_string()) {
    out.push_back(parse_policy(value.where(), value.text()));
    return;
  }
  if (!value.has("name")) value.refuse(R"(a text such as "tree:threshold=51", or {"name": ..., "parameters": {...}})");
  value.check_keys({"name", "parameters"});
  std::vector<PolicyChoice> choices{{value.at("name").filled_text("the name of a policy"), {}}};
  if (const auto parameters = value.find("parameters")) {
    if (!parameters->json().is_object()) parameters->refuse(R"(an object such as {"threshold": [51, 75]})");
    for (const auto& [name, values] : parameters->members()) {
      std::vector<std::string> texts;
      read_list(values, texts, parameter_text);
      cross(choices, texts, *parameters, [&name = name](PolicyChoice& choice, const std::string& text) {
        choice.parameters.emplace_back(name, text);
      });
    }
  }
  out.insert(out.end(), choices.begin(), choices.end());
}

// --- the rest --------------------------------------------------------------------------------------------------------

std::string read_layout(const JsonValue& value) { return value.filled_text("the name of a layout"); }
bool read_boolean(const JsonValue& value) { return value.boolean(); }

std::uint64_t read_seed(const JsonValue& value) {
  // The largest value of a database column.
  constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
  return value.integer(0, kLargest);
}

Iterations read_iterations(const JsonValue& value) {
  if (value.json() == "settled") return {};
  if (value.json() == "recorded") return {0, true};
  if (!value.json().is_number_unsigned()) {
    value.refuse(R"("settled", "recorded", or a number of iterations such as 10)");
  }
  return {parse_iteration_count(value.where(), value.json().dump()), false};
}

std::uint64_t read_time_scale(const JsonValue& value) {
  return parse_time_scale(value.where(), number_text(value, R"("auto", or a factor such as 1.25)"));
}

std::string read_sharing(const JsonValue& value) {
  const std::vector<std::string> words = scenario::sharing_names();
  return words[value.word(words)];
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
Json iterations_schema() { return one_or_list(any_of({constant("settled"), constant("recorded"), whole(1)})); }
Json time_scales_schema() {
  return one_or_list(any_of({constant("auto"), {{"type", "number"}, {"exclusiveMinimum", 0}}, typed("string")}));
}
Json boolean_schema() { return typed("boolean"); }
Json booleans_schema() { return one_or_list(boolean_schema()); }

}  // namespace

const std::vector<AxisKey>& axis_keys() {
  static const std::vector<AxisKey> keys = [] {
    using enum AxisOf;
    std::vector<AxisKey> all = {
        {"traces", kPrograms, "traces: paths relative to this file; *, ? and [...] match names",
         read_axis<&Axes::traces, add_traces>, texts_schema},
        {"scenarios", kScenarios,
         "instead of traces: scenario files, whose programs run together; the other keys change what they say",
         read_axis<&Axes::scenarios, add_scenarios>, texts_schema},
        {"systems", kBoth, "GPU servers: names, or files relative to this one", read_axis<&Axes::systems, read_system>,
         texts_schema},
        {"settings", kBoth,
         "changes of the system: {\"costs.batch_ns\": [6000, 7000]} crosses its lists; a list of such objects holds "
         "alternatives",
         read_axis<&Axes::settings, add_settings>, settings_schema},
        {"layouts", kPrograms, "where memory lies; default recorded", read_axis<&Axes::layouts, read_layout>,
         texts_schema},
        {"osf", kPrograms, "oversubscription factors, and \"none\" for no limit; default none",
         read_axis<&Axes::osf, read_factor>, osf_schema},
        {"capacity_bytes", kPrograms, "GPU memory for managed data, beside the factors of osf",
         read_axis<&Axes::capacities, read_capacity>, sizes_schema},
        {"shared_osf", kScenarios,
         "of GPUs that several programs use: the sum of their footprints over the memory; \"none\" for no limit",
         read_axis<&Axes::shared_osf, read_factor>, osf_schema},
        {"shared_capacity_bytes", kScenarios, "memory of such GPUs for managed data, beside the factors of shared_osf",
         read_axis<&Axes::shared_capacities, read_capacity>, sizes_schema},
        {"footprint_bytes", kPrograms, "what the factors divide; default \"measured\"",
         read_axis<&Axes::footprints, read_footprint>, sizes_schema},
    };
    for (const policy::Slot slot : kPolicySlots) {
      all.push_back({policy::slot_name(slot), slot == policy::Slot::kPlan ? kPrograms : kBoth,
                     slot_info(slot).axis_help,
                     [slot](const JsonValue& value, Axes& axes) {
                       axes.policies[slot].clear();
                       for_each_value(value, [&](const JsonValue& item) { add_policies(item, axes.policies[slot]); });
                     },
                     policies_schema});
    }
    const std::vector<AxisKey> rest = {
        {"schedule", kScenarios, slot_info(policy::Slot::kSchedule).axis_help,
         read_axis<&Axes::schedules, add_policies>, policies_schema},
        {"sharing", kScenarios, "how programs on one GPU compute: \"time_slices\", \"concurrent\"",
         read_axis<&Axes::sharings, read_sharing>,
         [] {
           return one_or_list(Json{{"enum", scenario::sharing_names()}});
         }},
        {"alone", kScenarios, "also run each program alone to compare with; default true", read_switch<&Axes::alone>,
         boolean_schema},
        {"plugins", kBoth,
         "shared libraries with policies, relative to this file; all are loaded for every point; "
         "\"mine.so@sha256:<64 digits>\" only if it is that file",
         read_axis<&Axes::plugins, read_plugin>, texts_schema},
        {"seeds", kBoth, "seeds of policies that draw random numbers; default 1", read_axis<&Axes::seeds, read_seed>,
         seeds_schema},
        {"iterations", kPrograms,
         "how many marked iterations to run: \"settled\" (default), until the run has settled, at most 64; "
         "\"recorded\"; or a number",
         read_axis<&Axes::iterations, read_iterations>, iterations_schema},
        {"until_settled", kPrograms,
         "a number of iterations is the most that run: fewer, if the run has settled before; default false",
         read_switch<&Axes::until_settled>, boolean_schema},
        {"time_scale", kPrograms, "factors of kernel durations; default \"auto\"",
         read_axis<&Axes::time_scales, read_time_scale>, time_scales_schema},
        {"recorded_on", kPrograms, "system whose GPU made the recordings, if their headers do not tell",
         [](const JsonValue& value, Axes& axes) { axes.recorded_on = read_system(value); },
         [] { return typed("string"); }},
        {"host_gaps", kBoth, "whether to replay the recorded host time between calls; default true",
         read_axis<&Axes::host_gaps, read_boolean>, booleans_schema},
        {"partial", kPrograms, "of traces that are cut off, use what is whole; default false",
         read_switch<&Axes::partial>, boolean_schema},
        {"footprint", kPrograms, "what the factors divide: memory that is \"allocated\" (default) or \"touched\"",
         [](const JsonValue& value, Axes& axes) {
           axes.touched_footprint = value.word({"allocated", "touched"}) == 1;
         },
         [] {
           return any_of({constant("allocated"), constant("touched")});
         }},
        {"hypothetical_capacity", kPrograms,
         "allow a limit of more memory than the GPU has, and without a limit as much as the program needs; default "
         "false",
         read_switch<&Axes::hypothetical_capacity>, boolean_schema},
        {"bounds", kPrograms, "also the lower bounds, and how far every run is from the best one; default false",
         read_switch<&Axes::bounds>, boolean_schema},
    };
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }();
  return keys;
}

namespace {

std::vector<PolicyChoice> policies_of(const Axes& axes, policy::Slot slot) {
  const auto given = axes.policies.find(slot);
  return given != axes.policies.end() ? given->second : std::vector{driver_choice(slot)};
}

}  // namespace

void check_count(std::uint64_t there, const std::vector<std::size_t>& sizes, const JsonValue& object) {
  std::uint64_t product = 1;
  for (const std::size_t size : sizes) {
    product *= size;
    if (there + product > kLargestSweep) object.fail("more than {} points", kLargestSweep);
  }
}

void append_points(const Axes& axes, const JsonValue& object, std::vector<Point>& points) {
  std::vector<Limit> limits = axes.osf;
  limits.insert(limits.end(), axes.capacities.begin(), axes.capacities.end());
  if (limits.empty()) limits.push_back({});

  std::vector<Changes<Point>> all;
  const auto over = [&](const auto& values, auto member) {
    Changes<Point>& changes = all.emplace_back();
    for (const auto& value : values) changes.push_back([value, member](Point& point) { point.*member = value; });
  };
  over(axes.traces, &Point::trace);
  over(axes.systems, &Point::system);
  over(axes.settings, &Point::settings);
  over(axes.layouts, &Point::layout);
  Changes<Point>& by_iterations = all.emplace_back();
  for (const Iterations& iterations : axes.iterations) {
    by_iterations.push_back([iterations, until_settled = axes.until_settled](Point& point) {
      point.iterations = iterations.number;
      point.as_recorded = iterations.as_recorded;
      point.until_settled = until_settled && (iterations.number != 0 || iterations.as_recorded);
    });
  }
  over(axes.time_scales, &Point::time_scale_millionths);
  over(axes.host_gaps, &Point::include_host_gaps);
  for (const policy::Slot slot : kPolicySlots) over(policies_of(axes, slot), choice_of(slot));
  over(axes.seeds, &Point::seed);
  over(axes.footprints, &Point::footprint_bytes);
  Changes<Point>& by_limit = all.emplace_back();
  for (const Limit& limit : limits) {
    by_limit.push_back([limit, touched = axes.touched_footprint](Point& point) {
      point.osf_thousandths = limit.osf_thousandths;
      point.capacity_bytes = limit.capacity_bytes;
      // Only a factor divides the footprint: without one the points are equal and merged into one.
      if (limit.osf_thousandths == 0) point.footprint_bytes = 0;
      // Without a limit nothing divides the touched footprint either.
      point.touched_footprint = touched && (limit.osf_thousandths != 0 || limit.capacity_bytes != 0);
    });
  }
  check_count(points.size(), sizes_of(all), object);

  Point start;
  start.partial = axes.partial;
  start.bounds = axes.bounds;
  start.hypothetical_capacity = axes.hypothetical_capacity;
  start.plugins = axes.plugins;
  start.recorded_on = axes.recorded_on;
  for_each_combination(all, start, [&](Point point) {
    check_iterations(point, object.where("iterations"));
    check_footprint(point, object.where("footprint"));
    points.push_back(std::move(point));
  });
}

}  // namespace uvmsim::sweep
