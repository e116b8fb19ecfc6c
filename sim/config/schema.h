// SPDX-License-Identifier: Apache-2.0
// The parameters of a system as one list, made from system.h. The loader, --set, `uvmsim systems`, the resolved JSON
// and configs/system.schema.json use it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/config/quantity.h"
#include "sim/config/system.h"

namespace uvmsim::config {

// One parameter of one system object; `target` points into that object.
struct Parameter {
  std::string key;  // dotted, list elements by number: "costs.batch_ns", "gpus.0.sm_count"
  std::variant<std::uint32_t*, std::uint64_t*, bool*, std::string*, ReplayPolicy*> target;
  Unit unit = Unit::kCount;
  std::uint64_t minimum = 0;  // integers only, both ends allowed
  std::uint64_t maximum = 0;
  std::span<const std::string_view> choices;  // the allowed words of a text; empty = any text
  std::string_view doc;                       // one line

  bool is_integer() const;
  bool is_boolean() const { return std::holds_alternative<bool*>(target); }
  // Names and kinds are texts; everything else is a figure that must state its source.
  bool needs_source() const { return !std::holds_alternative<std::string*>(target); }
  // Returns whether an integer's default is outside its range: every system must state a value.
  bool is_unset() const;
};

// Lists all parameters of `config` in a fixed order. Lists have as many elements as in config. The result points into
// `config`, whose lists must not be resized meanwhile.
std::vector<Parameter> parameters(SystemConfig& config);

// Calls visit(name, list) for the lists of a system, in a fixed order.
template <class Visit>
void for_each_list(SystemConfig& config, Visit&& visit) {
  visit("gpus", config.gpus);
  visit("host_links", config.host_links);
  visit("uplinks", config.uplinks);
  visit("peer_links", config.peer_links);
  visit("peer_switches", config.peer_switches);
}

// A group of parameters; `key` is as in Parameter, with lists without number: "host_links.host_to_device".
struct Group {
  std::string_view key;
  bool is_list;
  std::string_view doc;
};
std::span<const Group> groups();

using ParameterValue = std::variant<std::uint64_t, bool, std::string>;
// Returns the value; enumerations as their word.
ParameterValue value_of(const Parameter& parameter);
// Stores a value without checks; it must be of the parameter's kind and allowed. An unknown word is a ModelError.
void store(const Parameter& parameter, const ParameterValue& value);

// Formats "6000", "true", "batch_flush".
std::string value_text(const Parameter& parameter);
// Describes the allowed values in messages: "0 to 10000000000 ns", "true or false", "one of pcie, nvlink, c2c".
std::string allowed_text(const Parameter& parameter);

// "costs.batch_ns" -> "/costs/batch_ns"
std::string json_pointer(std::string_view key);
// "host_links.0.host_to_device" -> "host_links.host_to_device"
std::string without_indices(std::string_view key);

}  // namespace uvmsim::config
