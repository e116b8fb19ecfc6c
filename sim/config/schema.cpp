// SPDX-License-Identifier: Apache-2.0
#include "sim/config/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/common/check.h"
#include "sim/common/units.h"

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
    {"listener", false, "what it costs that somebody listens to the driver's events"},
    {"coherence", false,
     "memory of malloc, and links over which GPU and host reach each other's memory without faults"},
};

// The values that a parameter may have: integers with both ends allowed, or the words of a text.
struct Allowed {
  std::uint64_t minimum = 0, maximum = 0;
  std::span<const std::string_view> words = {};
};
constexpr Allowed between(std::uint64_t minimum, std::uint64_t maximum) { return {minimum, maximum}; }
constexpr Allowed words(std::span<const std::string_view> list) { return {0, 0, list}; }

// Upper ends are far beyond any hardware; they keep the model's 64-bit arithmetic from overflowing.
constexpr std::uint64_t kMillion = 1000000;
constexpr std::uint64_t kPebibyte = std::uint64_t{1} << 50;
constexpr std::uint64_t kMostGpus = 16;
constexpr Allowed kText = between(0, 0);
constexpr Allowed kSwitch = between(0, 1);
constexpr Allowed kCost = between(0, 10000 * kMillion);      // 10 s
constexpr Allowed kTlbCost = between(0, kMillion);           // 1 ms
constexpr Allowed kSlice = between(1000, 10000 * kMillion);  // 1 us to 10 s
constexpr Allowed kMemory = between(0, kPebibyte);
constexpr Allowed kGpuMemory = between(2u << 20, kPebibyte);  // at least one 2 MB chunk
constexpr Allowed kBandwidth = between(1, 100 * kMillion);    // 100 TB/s
constexpr Allowed kOptionalBandwidth = between(0, 100 * kMillion);
constexpr Allowed kEntries = between(1, 1u << 20);
constexpr Allowed kPercent = between(0, 100);
constexpr Allowed kPage = between(kBasePageBytes, kBlockBytes);
constexpr Allowed kGpuNumber = between(0, kMostGpus - 1);
constexpr Allowed kCounted = between(1, kBasePageBytes);
constexpr std::string_view kLinkKinds[] = {"pcie", "nvlink", "c2c"};
constexpr std::string_view kAddressModes[] = {"none", "hmm", "ats", "cdmm"};
constexpr std::string_view kPeerLinkKinds[] = {"pcie", "nvlink"};
constexpr std::string_view kReplayPolicies[] = {"batch", "batch_flush"};  // in the order of ReplayPolicy

// Appends the parameters of an object, whose key is `prefix`.
struct Appender {
  std::vector<Parameter>& list;

  template <class Target>
  void add(const std::string& prefix, std::string_view name, Target* target, const Allowed& allowed,
           std::string_view doc) const {
    list.push_back({fmt::format("{}.{}", prefix, name), target, unit_by_suffix(name), allowed.minimum, allowed.maximum,
                    allowed.words, doc});
  }

#define UVMSIM_PARAMETER(type, name, standard, allowed, meaning) add(prefix, #name, &object.name, allowed, meaning);
  using Key = const std::string&;
  void operator()(Key prefix, GpuConfig& object) const { UVMSIM_GPU_PARAMETERS(UVMSIM_PARAMETER) }
  void operator()(Key prefix, LinkDirectionConfig& object) const { UVMSIM_LINK_DIRECTION_PARAMETERS(UVMSIM_PARAMETER) }
  void operator()(Key prefix, LinkConfig& object) const {
    UVMSIM_LINK_PARAMETERS(UVMSIM_PARAMETER)
    (*this)(prefix + ".host_to_device", object.host_to_device);
    (*this)(prefix + ".device_to_host", object.device_to_host);
  }
  void operator()(Key prefix, UplinkConfig& object) const { UVMSIM_UPLINK_PARAMETERS(UVMSIM_PARAMETER) }
  void operator()(Key prefix, PeerRates& object) const { UVMSIM_PEER_RATES_PARAMETERS(UVMSIM_PARAMETER) }
  void operator()(Key prefix, PeerLinkConfig& object) const {
    UVMSIM_PEER_LINK_PARAMETERS(UVMSIM_PARAMETER)
    (*this)(prefix + ".each_way", object.each_way);
  }
  void operator()(Key prefix, PeerSwitchConfig& object) const {
    UVMSIM_PEER_SWITCH_PARAMETERS(UVMSIM_PARAMETER)
    (*this)(prefix + ".port", object.port);
  }
  void operator()(Key prefix, GmmuConfig& object) const { UVMSIM_GMMU_PARAMETERS(UVMSIM_PARAMETER) }
  void operator()(Key prefix, HostConfig& object) const { UVMSIM_HOST_PARAMETERS(UVMSIM_PARAMETER) }
  void operator()(Key prefix, SsdConfig& object) const { UVMSIM_SSD_PARAMETERS(UVMSIM_PARAMETER) }
  void operator()(Key prefix, DriverConfig& object) const { UVMSIM_DRIVER_PARAMETERS(UVMSIM_PARAMETER) }
  void operator()(Key prefix, DriverCosts& object) const { UVMSIM_DRIVER_COST_PARAMETERS(UVMSIM_PARAMETER) }
  void operator()(Key prefix, RuntimeCosts& object) const { UVMSIM_RUNTIME_COST_PARAMETERS(UVMSIM_PARAMETER) }
  void operator()(Key prefix, ListenerCosts& object) const { UVMSIM_LISTENER_PARAMETERS(UVMSIM_PARAMETER) }
  void operator()(Key prefix, CoherenceConfig& object) const { UVMSIM_COHERENCE_PARAMETERS(UVMSIM_PARAMETER) }
#undef UVMSIM_PARAMETER
};

}  // namespace

std::vector<Parameter> parameters(SystemConfig& config) {
  std::vector<Parameter> list;
  const Appender append{list};
  for_each_list(config, [&](const char* name, auto& elements) {
    for (std::size_t i = 0; i < elements.size(); ++i) append(fmt::format("{}.{}", name, i), elements[i]);
  });
  append("gmmu", config.gmmu);
  append("host", config.host);
  append("ssd", config.ssd);
  append("driver", config.driver);
  append("costs", config.costs);
  append("runtime", config.runtime);
  append("listener", config.listener);
  append("coherence", config.coherence);
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
