// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/cells.h"

#include <fmt/format.h>

#include "sim/policy/registry.h"

namespace uvmsim::sweep {

using nlohmann::ordered_json;

Cell cell(const ordered_json& value) {
  if (value.is_null()) return {};
  if (value.is_boolean()) return std::int64_t{value.get<bool>()};
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) return value.dump();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return value.dump();
}

Cell cell(std::uint64_t value) { return cell(ordered_json(value)); }

ordered_json policy_of(const ordered_json& result, policy::Slot slot) {
  const ordered_json& policies = result.at("policies");
  const auto found = policies.find(policy::slot_name(slot));
  if (found != policies.end()) return *found;
  return {{"name", driver_choice(slot).name}, {"parameters", ordered_json::object()}};
}

std::string parameters_text(const ordered_json& parameters) {
  std::string out;
  for (const auto& [key, value] : parameters.items()) {
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", key, value.get<std::string>());
  }
  return out;
}

std::string chosen_text(const ordered_json& policy) {
  const std::string parameters = parameters_text(policy.at("parameters"));
  return policy.at("name").get<std::string>() + (parameters.empty() ? "" : ":") + parameters;
}

}  // namespace uvmsim::sweep
