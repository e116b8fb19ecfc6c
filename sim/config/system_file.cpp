// SPDX-License-Identifier: Apache-2.0
#include "sim/config/system_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <vector>

#include "sim/common/error.h"
#include "sim/config/schema.h"
#include "sim/formats/did_you_mean.h"
#include "sim/formats/json.h"
#include "sim/formats/printable.h"

namespace uvmsim::config {
namespace {

using nlohmann::ordered_json;

constexpr const char* kSource = "source";
constexpr const char* kSourceOfDefaults = "source_of_defaults";
constexpr const char* kValue = "value";
constexpr const char* kCount = "count";  // number of equal consecutive elements of a list
constexpr std::size_t kMostListed = 64;  // elements of a list

bool is_list(const std::string& key) {
  return std::any_of(groups().begin(), groups().end(), [&](const Group& g) { return g.is_list && g.key == key; });
}

// Returns whether a key is like "gpus.0".
bool is_element(const std::string& key) {
  const std::size_t dot = key.find('.');
  return dot != std::string::npos && key.find('.', dot + 1) == std::string::npos && is_list(key.substr(0, dot));
}

std::string joined(const std::string& prefix, const std::string& key) {
  return prefix.empty() ? key : prefix + "." + key;
}

class SystemFileReader {
 public:
  SystemFileReader(SystemConfig& config, const std::string& file) : config_(config), file_(file) {}

  void read(const ordered_json& document) {
    if (!document.is_object()) {
      throw_input_error("{}: is {}; allowed: an object that describes a system", file_, json_kind(document));
    }
    for_each_list(config_, [&](const char* name, auto& list) { resize_list(document, name, list); });
    if (document.contains("host_links")) {  // a link's limit for both directions does not apply to another link
      config_.runtime.remote_both_ways_bytes_per_us = 0;
      config_.sources["runtime.remote_both_ways_bytes_per_us"] = "follows from the host links: their two directions";
    }
    for (const Parameter& parameter : parameters(config_)) parameters_.emplace(parameter.key, parameter);
    for (const auto& [key, value] : document.items()) {
      if (key == "name" || key == "description") {
        read_text(key, value);
      } else if (key != "$schema" && key != "extends") {
        read_member("", key, value, "");
      }
    }
  }

 private:
  std::string at(const std::string& key) const { return fmt::format("{}: {}", file_, json_pointer(key)); }

  template <class Element>
  void resize_list(const ordered_json& document, const std::string& name, std::vector<Element>& list) {
    const auto found = document.find(name);
    if (found == document.end()) return;
    if (!found->is_array() || found->empty() || found->size() > kMostListed) {
      throw_input_error("{}: is {}; allowed: an array of 1 to {} objects", at(name),
                        found->is_array() ? fmt::format("an array of {}", found->size()) : json_kind(*found),
                        kMostListed);
    }
    std::size_t size = 0;
    for (std::size_t i = 0; i < found->size(); ++i) size += count_of((*found)[i], fmt::format("{}.{}", name, i));
    if (size > kMostListed) {
      throw_input_error("{}: is an array of {}, equal ones counted; allowed: 1 to {} objects", at(name), size,
                        kMostListed);
    }
    if (size == list.size() && !names_other_model(*found, list)) return;
    list.assign(size, Element{});
    std::erase_if(config_.sources, [&](const auto& entry) { return entry.first.starts_with(name + "."); });
  }

  // Returns whether the stated element names another model, so that none of the existing values apply.
  template <class Element>
  static bool names_other_model(const ordered_json& stated, const std::vector<Element>& list) {
    if constexpr (requires { list.front().model; }) {
      return std::ranges::any_of(stated, [&](const ordered_json& element) {
        if (!element.is_object() || !element.contains("model")) return false;
        const ordered_json& model = element.at("model");
        const ordered_json& text = model.is_object() && model.contains(kValue) ? model.at(kValue) : model;
        return std::ranges::none_of(list, [&](const Element& known) { return text == known.model; });
      });
    }
    return false;
  }

  std::size_t count_of(const ordered_json& element, const std::string& key) const {
    const auto found = element.is_object() ? element.find(kCount) : element.end();
    if (found == element.end()) return 1;
    if (!found->is_number_unsigned() || *found == 0 || *found > kMostListed) {
      throw_input_error("{}: {} is not allowed; allowed: 1 to {}, the number of equal elements",
                        at(joined(key, kCount)), json_excerpt(*found), kMostListed);
    }
    return found->get<std::size_t>();
  }

  void read_text(const std::string& key, const ordered_json& value) {
    if (!value.is_string() || !is_one_line(value.get_ref<const std::string&>())) {
      throw_input_error("{}: {} is not allowed; allowed: one line of text", at(key), json_excerpt(value));
    }
    (key == "name" ? config_.name : config_.description) = value.get<std::string>();
  }

  // Reads one key of the group `prefix`; `source` is the group's own or that of the enclosing group.
  void read_member(const std::string& prefix, const std::string& key, const ordered_json& value,
                   const std::string& source) {
    const std::string full = joined(prefix, key);
    // A dot in a key would otherwise reach into a group.
    if (key.find('.') == std::string::npos) {
      if (const auto found = parameters_.find(full); found != parameters_.end()) {
        read_parameter(found->second, value, source);
        return;
      }
      if (is_group(full)) {
        read_group(full, value, source);
        return;
      }
    }
    const std::vector<std::string> known = known_keys(prefix);
    throw_input_error("{}/{}: unknown key{}", prefix.empty() ? file_ + ": " : at(prefix), printable(key),
                      allowed_hint(key, known));
  }

  bool is_group(const std::string& key) const {
    const auto after = parameters_.lower_bound(key + ".");
    return after != parameters_.end() && after->first.starts_with(key + ".");
  }

  void read_group(const std::string& key, const ordered_json& value, const std::string& outer_source) {
    if (value.is_array() && is_list(key)) {
      std::size_t index = 0;
      for (const ordered_json& element : value) {
        for (std::size_t left = count_of(element, key); left > 0; --left) {
          read_group(joined(key, std::to_string(index++)), element, outer_source);
        }
      }
      return;
    }
    if (!value.is_object()) {
      throw_input_error("{}: is {}; allowed: an object with the keys of '{}'", at(key), json_kind(value),
                        without_indices(key));
    }
    const std::string source =
        value.contains(kSource) ? source_of(joined(key, kSource), value.at(kSource)) : outer_source;
    for (const auto& [name, member] : value.items()) {
      if (name != kSource && name != kSourceOfDefaults && !(name == kCount && is_element(key))) {
        read_member(key, name, member, source);
      }
    }
    if (value.contains(kSourceOfDefaults)) cover_defaults(key, value.at(kSourceOfDefaults));
  }

  // Parameters that no file states keep uvmsim's default; the group may state its source.
  void cover_defaults(const std::string& group, const ordered_json& value) {
    const std::string key = joined(group, kSourceOfDefaults);
    const std::string source = source_of(key, value);
    bool covers = false;
    for (const auto& [name, parameter] : parameters_) {
      if (name.starts_with(group + ".") && parameter.needs_source() && !config_.sources.contains(name)) {
        config_.sources[name] = source;
        covers = true;
      }
    }
    if (!covers) {
      throw_input_error("{}: the whole group is stated; allowed: in a group with parameters left at their defaults",
                        at(key));
    }
  }

  std::string source_of(const std::string& key, const ordered_json& value) const {
    if (!value.is_string() || !is_one_line(value.get_ref<const std::string&>())) {
      throw_input_error("{}: {} is not allowed; allowed: a line of text that says where the number comes from", at(key),
                        json_excerpt(value));
    }
    return value.get<std::string>();
  }

  // A parameter is either a value alone, with the group's source, or {"value": ..., "source": "..."}.
  void read_parameter(const Parameter& parameter, const ordered_json& stated, std::string source) {
    const std::string where = at(parameter.key);
    const ordered_json* value = &stated;
    if (stated.is_object()) {
      for (const auto& [name, member] : stated.items()) {
        if (name == kSource) {
          source = source_of(joined(parameter.key, kSource), member);
        } else if (name != kValue) {
          throw_input_error("{}/{}: unknown key; allowed: 'value' and 'source'", where, printable(name));
        }
      }
      if (!stated.contains(kValue)) {
        throw_input_error("{}: has no 'value'; allowed: {}", where, allowed_text(parameter));
      }
      value = &stated.at(kValue);
    }
    assign(parameter, *value, where);
    if (!source.empty()) {
      config_.sources[parameter.key] = source;
    } else if (parameter.needs_source()) {
      throw_input_error(
          "{}: has no source; allowed: {{\"value\": {}, \"source\": \"where it comes from\"}}, or a \"source\" for the "
          "whole group",
          where, json_excerpt(*value));
    }
  }

  std::vector<std::string> known_keys(const std::string& prefix) const {
    std::vector<std::string> keys;
    if (prefix.empty()) {
      keys = {"name", "description", "extends", "$schema"};
      for (const Group& group : groups()) {
        if (group.key.find('.') == std::string_view::npos) keys.emplace_back(group.key);
      }
      return keys;
    }
    keys = {kSource, is_element(prefix) ? kCount : kSourceOfDefaults};
    for (const auto& [key, parameter] : parameters_) {
      if (key.starts_with(prefix + ".")) {
        const std::string rest = key.substr(prefix.size() + 1);
        std::string one = rest.substr(0, rest.find('.'));
        if (std::find(keys.begin(), keys.end(), one) == keys.end()) keys.push_back(std::move(one));
      }
    }
    return keys;
  }

  SystemConfig& config_;
  const std::string& file_;
  std::map<std::string, Parameter> parameters_;
};

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' || c == '+';
}

}  // namespace

void apply_system_file(SystemConfig& config, const ordered_json& document, const std::string& file) {
  SystemFileReader(config, file).read(document);
}

void complete_system(SystemConfig& config, const std::string& file) {
  if (!std::all_of(config.name.begin(), config.name.end(), is_name_character)) {
    throw_input_error("{}: /name: '{}' is not allowed; allowed: letters, digits, '-', '_', '.' and '+'", file,
                      printable(config.name));
  }
  if (config.description.empty()) {
    throw_input_error("{}: /description: missing; allowed: one line that says what the system is", file);
  }
  if (config.gpus.empty() || config.host_links.empty()) {
    throw_input_error("{}: /{}: missing; allowed: an array of 1 to {} objects", file,
                      config.gpus.empty() ? "gpus" : "host_links", kMostListed);
  }
  std::vector<std::string> missing, allowed;
  for (const Parameter& parameter : parameters(config)) {
    // The lists describe hardware, which has no defaults.
    const bool in_list = is_list(parameter.key.substr(0, parameter.key.find('.')));
    const bool stated = config.sources.contains(parameter.key);
    if (parameter.is_unset() || (in_list && parameter.needs_source() && !stated)) {
      missing.push_back(json_pointer(parameter.key));
      allowed.push_back(allowed_text(parameter));
    }
    if (parameter.needs_source() && !stated) config.sources[parameter.key] = "uvmsim default";
  }
  if (missing.size() == 1) throw_input_error("{}: {}: missing; allowed: {}", file, missing.front(), allowed.front());
  if (!missing.empty()) {
    throw_input_error("{}: {} keys are missing: {}; `uvmsim systems --schema` says what is allowed", file,
                      missing.size(), fmt::join(missing, ", "));
  }
}

}  // namespace uvmsim::config
