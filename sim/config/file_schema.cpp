// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "sim/common/check.h"
#include "sim/config/schema.h"
#include "sim/config/system_text.h"

namespace uvmsim::config {
namespace {

using nlohmann::ordered_json;

ordered_json reference_to(const std::string& definition) { return {{"$ref", "#/$defs/" + definition}}; }

// Parameters with the same definition name share one definition.
std::string definition_name(const Parameter& parameter) {
  if (parameter.is_boolean()) return "switch";
  if (!parameter.is_integer()) {
    return parameter.choices.empty() ? "text" : fmt::format("{}", fmt::join(parameter.choices, "_or_"));
  }
  const std::string_view unit = unit_name(parameter.unit);
  std::string name = fmt::format("{}_{}_to_{}", unit.empty() ? "count" : unit, parameter.minimum, parameter.maximum);
  std::replace(name.begin(), name.end(), '/', '_');  // a JSON pointer separates by '/'
  std::replace(name.begin(), name.end(), '%', 'p');  // and an URI escapes by '%'
  return name;
}

// "ns, us, ms, s" -> "ns|us|ms|s"
std::string unit_pattern(Unit unit) {
  std::string pattern = unit_spellings(unit);
  for (std::size_t at = pattern.find(", "); at != std::string::npos; at = pattern.find(", ")) {
    pattern.replace(at, 2, "|");
  }
  return pattern;
}

ordered_json value_schema(const Parameter& parameter) {
  if (parameter.is_boolean()) return {{"type", "boolean"}};
  if (!parameter.choices.empty()) return {{"enum", parameter.choices}};
  if (!parameter.is_integer()) return {{"type", "string"}, {"minLength", 1}};
  const ordered_json integer{{"type", "integer"}, {"minimum", parameter.minimum}, {"maximum", parameter.maximum}};
  if (parameter.unit == Unit::kCount) return integer;
  const std::string pattern = fmt::format("^[0-9]+(\\.[0-9]+)? ?({})$", unit_pattern(parameter.unit));
  return {{"anyOf", {integer, {{"type", "string"}, {"pattern", pattern}}}}};
}

// A value alone, or a value with its source.
ordered_json stated_schema(const std::string& definition) {
  const ordered_json object = {
      {"type", "object"},
      {"additionalProperties", false},
      {"required", {"value"}},
      {"properties", {{"value", reference_to(definition)}, {"source", reference_to("source")}}}};
  return {{"anyOf", {reference_to(definition), object}}};
}

// The default is left out, so that the schema does not change whenever a figure is fitted.
ordered_json parameter_schema(const Parameter& parameter) {
  const std::string_view unit = unit_name(parameter.unit);
  return {{"description", fmt::format("{}{}", parameter.doc, unit.empty() ? "" : fmt::format(" ({})", unit))},
          {"$ref", "#/$defs/stated_" + definition_name(parameter)}};
}

// Returns the schema of a group, created with its parents on first use.
ordered_json& group_schema(ordered_json& document, std::string_view key) {
  const std::size_t dot = key.rfind('.');
  const bool top = dot == std::string_view::npos;
  ordered_json& parent = top ? document : group_schema(document, key.substr(0, dot));
  const std::string name(key.substr(top ? 0 : dot + 1));
  ordered_json& entry = parent["properties"][name];
  const auto group = std::find_if(groups().begin(), groups().end(), [&](const Group& g) { return g.key == key; });
  if (group == groups().end()) throw ModelError(fmt::format("group {} is not described in schema.cpp", key));
  if (entry.is_null()) {
    entry = {{"description", group->doc}};
    if (group->is_list) entry.update({{"type", "array"}, {"minItems", 1}});
    ordered_json& object = group->is_list ? entry["items"] : entry;
    object["type"] = "object";
    object["additionalProperties"] = false;
    ordered_json& properties = object["properties"] = {{"source", reference_to("source")}};
    if (group->is_list) {
      properties["count"] = {
          {"description", "so many equal ones"}, {"type", "integer"}, {"minimum", 1}, {"maximum", 64}};
    }
    if (top && !group->is_list) properties["source_of_defaults"] = reference_to("source");
  }
  return group->is_list ? entry["items"] : entry;
}

}  // namespace

SystemConfig with_every_key() {
  SystemConfig system;
  for_each_list(system, [](const char*, auto& list) { list.resize(1); });
  return system;
}

std::string system_file_schema() {
  SystemConfig defaults = with_every_key();
  ordered_json document = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", "uvmsim system"},
      {"description",
       "One GPU server. Every figure has a source: its own, as {\"value\": ..., \"source\": \"...\"}, or that of its "
       "group. Made by `uvmsim systems --schema`."},
      {"type", "object"},
      {"additionalProperties", false},
      {"required", {"description"}},
      {"properties",
       {{"$schema", {{"type", "string"}}},
        {"name", {{"type", "string"}, {"pattern", "^[-A-Za-z0-9_.]+$"}}},
        {"description", reference_to("text")},
        {"extends", reference_to("text")}}}};
  ordered_json definitions = {{"source", {{"description", "where the figures come from"}, {"$ref", "#/$defs/text"}}}};
  for (const Parameter& parameter : parameters(defaults)) {
    const std::string key = without_indices(parameter.key);
    const std::size_t dot = key.rfind('.');
    const std::string name = key.substr(dot + 1);
    ordered_json& group = group_schema(document, std::string_view(key).substr(0, dot));
    group["properties"][name] = parameter_schema(parameter);
    const std::string definition = definition_name(parameter);
    if (!definitions.contains(definition)) {
      definitions[definition] = value_schema(parameter);
      definitions["stated_" + definition] = stated_schema(definition);
    }
  }
  document["$defs"] = std::move(definitions);
  return document.dump(2) + "\n";
}

}  // namespace uvmsim::config
