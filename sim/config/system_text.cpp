// SPDX-License-Identifier: Apache-2.0
#include "sim/config/system_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "sim/config/schema.h"

namespace uvmsim::config {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const Parameter& parameter) {
  return std::visit([](const auto& value) { return ordered_json(value); }, value_of(parameter));
}

// Returns the place of a dotted key; creates the objects and arrays on the way.
ordered_json& place(ordered_json& document, std::string_view key) {
  ordered_json* at = &document;
  while (!key.empty()) {
    const std::string part(key.substr(0, key.find('.')));
    key.remove_prefix(std::min(key.size(), part.size() + 1));
    const bool is_index = part.front() >= '0' && part.front() <= '9';
    at = is_index ? &(*at)[static_cast<std::size_t>(std::stoul(part))] : &(*at)[part];
  }
  return *at;
}

std::string source_of(const SystemConfig& config, const std::string& key) {
  const auto found = config.sources.find(key);
  return found == config.sources.end() ? "" : found->second;
}

std::string json_text(const SystemConfig& config, bool with_sources) {
  SystemConfig copy = config;  // parameters() returns pointers for changing it
  ordered_json document;
  document["name"] = config.name;
  document["description"] = config.description;
  for (const Parameter& parameter : parameters(copy)) {
    ordered_json& target = place(document, parameter.key);
    const std::string source = source_of(config, parameter.key);
    if (with_sources && !source.empty()) {
      target["value"] = json_of(parameter);
      target["source"] = source;
    } else {
      target = json_of(parameter);
    }
  }
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

// Sources are long and shared by many parameters; the report refers to them by number.
class SourceList {
 public:
  std::string reference(const std::string& source) {
    if (source.empty()) return "";
    const auto found = std::find(sources_.begin(), sources_.end(), source);
    const auto number = found - sources_.begin() + 1;
    if (found == sources_.end()) sources_.push_back(source);
    return fmt::format("[{}]", number);
  }
  std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      text += fmt::format("  {:>4} {}\n", fmt::format("[{}]", i + 1), sources_[i]);
    }
    return text;
  }

 private:
  std::vector<std::string> sources_;
};

std::string_view doc_of_group(const std::string& group) {
  const std::string plain = without_indices(group);
  for (const Group& candidate : groups()) {
    if (candidate.key == plain) return candidate.doc;
  }
  return "";
}

}  // namespace

std::string resolved_json(const SystemConfig& config) { return json_text(config, true); }

std::string values_json(const SystemConfig& config) { return json_text(config, false); }

std::string system_report(const SystemConfig& config) {
  SystemConfig copy = config;
  const std::vector<Parameter> all = parameters(copy);
  std::size_t name_width = 0;
  std::size_t value_width = 0;
  for (const Parameter& parameter : all) {
    name_width = std::max(name_width, parameter.key.size() - parameter.key.rfind('.') - 1);
    value_width = std::max(value_width, value_text(parameter).size());
  }

  std::string report = fmt::format("{}: {}\n", config.name, config.description);
  std::string group;
  SourceList sources;
  for (const Parameter& parameter : all) {
    const std::size_t dot = parameter.key.rfind('.');
    if (parameter.key.substr(0, dot) != group) {
      group = parameter.key.substr(0, dot);
      report += fmt::format("\n{}: {}\n", group, doc_of_group(group));
    }
    report += fmt::format("  {:<{}}  {:>{}} {:<8} {:>5}  {}\n", parameter.key.substr(dot + 1), name_width,
                          value_text(parameter), value_width, unit_name(parameter.unit),
                          sources.reference(source_of(config, parameter.key)), parameter.doc);
  }
  return report + "\nsources\n" + sources.text();
}

}  // namespace uvmsim::config
