// SPDX-License-Identifier: Apache-2.0
#include "sim/config/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/common/check.h"
#include "sim/config/parameter_tables.h"

namespace uvmsim::config {
namespace {

constexpr Group kGroups[] = {
    {"gpus", true, "the GPUs, in the order of their device numbers"},
    {"host_links", true, "the link of each GPU to the host; a transfer of n bytes takes latency + n / bandwidth"},
    {"host_links.host_to_device", false, "from the host to the GPU"},
    {"host_links.device_to_host", false, "from the GPU to the host"},
    {"uplinks", true, "PCIe switches, whose GPUs share a link to the host; none: every GPU has a port of its own"},
    {"peer_links", true, "direct links between two GPUs; GPUs without one copy through the host"},
    {"peer_links.each_way", false, "one direction of it"},
    {"peer_switches", true, "switches between GPUs (NVSwitch)"},
    {"peer_switches.port", false, "one GPU's link to it, each direction"},
    {"gmmu", false, "address translation on the GPU"},
    {"host", false, "the host"},
    {"ssd", false, "optional tier below the host"},
    {"driver", false, "module parameters of the driver, as there without uvm_perf_"},
    {"costs", false, "what the driver's steps cost"},
    {"runtime", false, "what the program and the GPU pay outside the driver"},
};

template <class Struct, std::size_t kSize>
void append(std::vector<Parameter>& list, const std::string& prefix, Struct& object,
            const Field<Struct> (&fields)[kSize]) {
  for (const Field<Struct>& field : fields) {
    std::visit(
        [&](auto member) {
          list.push_back({fmt::format("{}.{}", prefix, field.name), &(object.*member), field.unit, field.range.minimum,
                          field.range.maximum, field.choices, field.doc});
        },
        field.member);
  }
}

}  // namespace

std::vector<Parameter> parameters(SystemConfig& config) {
  std::vector<Parameter> list;
  for (std::size_t i = 0; i < config.gpus.size(); ++i) append(list, fmt::format("gpus.{}", i), config.gpus[i], kGpu);
  for (std::size_t i = 0; i < config.host_links.size(); ++i) {
    LinkConfig& link = config.host_links[i];
    const std::string prefix = fmt::format("host_links.{}", i);
    append(list, prefix, link, kLink);
    append(list, prefix + ".host_to_device", link.host_to_device, kLinkDirection);
    append(list, prefix + ".device_to_host", link.device_to_host, kLinkDirection);
  }
  for (std::size_t i = 0; i < config.uplinks.size(); ++i) {
    append(list, fmt::format("uplinks.{}", i), config.uplinks[i], kUplink);
  }
  for (std::size_t i = 0; i < config.peer_links.size(); ++i) {
    const std::string prefix = fmt::format("peer_links.{}", i);
    append(list, prefix, config.peer_links[i], kPeerLink);
    append(list, prefix + ".each_way", config.peer_links[i].each_way, kPeerRates);
  }
  for (std::size_t i = 0; i < config.peer_switches.size(); ++i) {
    const std::string prefix = fmt::format("peer_switches.{}", i);
    append(list, prefix, config.peer_switches[i], kPeerSwitch);
    append(list, prefix + ".port", config.peer_switches[i].port, kPeerRates);
  }
  append(list, "gmmu", config.gmmu, kGmmu);
  append(list, "host", config.host, kHost);
  append(list, "ssd", config.ssd, kSsd);
  append(list, "driver", config.driver, kDriver);
  append(list, "costs", config.costs, kCosts);
  append(list, "runtime", config.runtime, kRuntime);
  return list;
}

std::span<const Group> groups() { return kGroups; }

bool Parameter::is_integer() const {
  return std::holds_alternative<std::uint32_t*>(target) || std::holds_alternative<std::uint64_t*>(target);
}

bool Parameter::is_unset() const {
  if (is_integer()) {
    const auto value = std::get<std::uint64_t>(value_of(*this));
    return value < minimum || value > maximum;
  }
  const auto* text = std::get_if<std::string*>(&target);
  return text != nullptr && (*text)->empty();
}

ParameterValue value_of(const Parameter& parameter) {
  struct Read {
    ParameterValue operator()(const std::uint32_t* value) const { return std::uint64_t{*value}; }
    ParameterValue operator()(const std::uint64_t* value) const { return *value; }
    ParameterValue operator()(const bool* value) const { return *value; }
    ParameterValue operator()(const std::string* value) const { return *value; }
    ParameterValue operator()(const ReplayPolicy* value) const {
      return std::string(kReplayPolicies[static_cast<std::size_t>(*value)]);
    }
  };
  return std::visit(Read{}, parameter.target);
}

void store(const Parameter& parameter, const ParameterValue& value) {
  struct Write {
    const ParameterValue& value;
    void operator()(std::uint32_t* target) const {
      *target = static_cast<std::uint32_t>(std::get<std::uint64_t>(value));
    }
    void operator()(std::uint64_t* target) const { *target = std::get<std::uint64_t>(value); }
    void operator()(bool* target) const { *target = std::get<bool>(value); }
    void operator()(std::string* target) const { *target = std::get<std::string>(value); }
    void operator()(ReplayPolicy* target) const {
      const auto& word = std::get<std::string>(value);
      const auto* found = std::find(std::begin(kReplayPolicies), std::end(kReplayPolicies), word);
      if (found == std::end(kReplayPolicies)) throw ModelError(fmt::format("no replay policy '{}'", word));
      *target = static_cast<ReplayPolicy>(found - std::begin(kReplayPolicies));
    }
  };
  std::visit(Write{value}, parameter.target);
}

std::string value_text(const Parameter& parameter) {
  return std::visit([](const auto& value) { return fmt::format("{}", value); }, value_of(parameter));
}

std::string allowed_text(const Parameter& parameter) {
  if (parameter.is_integer()) {
    const std::string_view unit = unit_name(parameter.unit);
    return fmt::format("{} to {}{}{}", parameter.minimum, parameter.maximum, unit.empty() ? "" : " ", unit);
  }
  if (parameter.is_boolean()) return "true or false";
  return parameter.choices.empty() ? "one line of text" : fmt::format("one of {}", fmt::join(parameter.choices, ", "));
}

std::string json_pointer(std::string_view key) {
  std::string pointer = "/" + std::string(key);
  std::replace(pointer.begin(), pointer.end(), '.', '/');
  return pointer;
}

std::string without_indices(std::string_view key) {
  std::string result;
  while (!key.empty()) {
    const std::string_view part = key.substr(0, key.find('.'));
    key.remove_prefix(std::min(key.size(), part.size() + 1));
    if (part.front() < '0' || part.front() > '9') result += (result.empty() ? "" : ".") + std::string(part);
  }
  return result;
}

}  // namespace uvmsim::config
