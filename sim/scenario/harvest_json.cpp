#include "sim/scenario/harvest_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "sim/common/error.h"
#include "sim/config/json_file.h"
#include "sim/policy/name_suggestion.h"

namespace uvmsim::scenario {
namespace {

using Json = nlohmann::ordered_json;
using sweep::Place;

[[noreturn]] void refuse_value(const Place& place, const Json& value, std::string_view allowed) {
  throw_input_error("{}: {} is not allowed; allowed: {}", place.text(), config::json_excerpt(value), allowed);
}

struct HarvestSwitch {
  const char* name;
  bool HarvestChoice::*member;
  const char* doc;
};
constexpr std::array kHarvestSwitches = {
    HarvestSwitch{"victims", &HarvestChoice::victims, "evicted blocks may go to spare memory of peers"},
    HarvestSwitch{"pre_evict", &HarvestChoice::pre_evict, "a reserve is kept free ahead of need"},
    HarvestSwitch{"parallel_fetch", &HarvestChoice::parallel_fetch,
                  "faulted blocks may also come over the links of peers"},
    HarvestSwitch{"prefetch", &HarvestChoice::prefetch,
                  "blocks beyond a fault batch come ahead of need; over whose links, `route` says"},
};

struct HarvestNumber {
  const char* name;
  std::uint32_t HarvestChoice::*member;
  std::uint32_t least, most;
  const char* doc;
};
constexpr std::array kHarvestNumbers = {
    HarvestNumber{"reserve_chunks", &HarvestChoice::reserve_chunks, 0, 1'000'000,
                  "2 MB chunks that every GPU keeps; default 50"},
    HarvestNumber{"prefetch_chunks", &HarvestChoice::prefetch_chunks, 1, 1024,
                  "blocks of 2 MB that prefetch looks at after a batch; default 16"},
    HarvestNumber{"prefetch_stride", &HarvestChoice::prefetch_stride, 1, 1024,
                  "from one of them to the next, in blocks; default 2"},
};

}  // namespace

HarvestChoice read_harvest(const Json& object, const Place& place) {
  if (!object.is_object()) refuse_value(place, object, "an object");
  HarvestChoice choice;
  std::vector<std::string> names;
  for (const HarvestSwitch& known : kHarvestSwitches) names.emplace_back(known.name);
  for (const HarvestNumber& known : kHarvestNumbers) names.emplace_back(known.name);
  for (const auto& [key, value] : object.items()) {
    const auto named = [&key = key](const auto& known) { return key == known.name; };
    const auto flag = std::find_if(kHarvestSwitches.begin(), kHarvestSwitches.end(), named);
    const auto number = std::find_if(kHarvestNumbers.begin(), kHarvestNumbers.end(), named);
    if (flag != kHarvestSwitches.end()) {
      if (!value.is_boolean()) refuse_value(place / key, value, "true or false");
      choice.*(flag->member) = value.get<bool>();
    } else if (number != kHarvestNumbers.end()) {
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() < number->least ||
          value.get<std::uint64_t>() > number->most) {
        refuse_value(place / key, value, fmt::format("a whole number from {} to {}", number->least, number->most));
      }
      choice.*(number->member) = value.get<std::uint32_t>();
    } else {
      throw_input_error("{}: unknown key '{}'{}; allowed: {}", place.text(), key, policy::suggestion(key, names),
                        fmt::join(names, ", "));
    }
  }
  return choice;
}

Json harvest_json(const HarvestChoice& choice) {
  Json out = Json::object();
  for (const HarvestSwitch& known : kHarvestSwitches) out[known.name] = choice.*(known.member);
  for (const HarvestNumber& known : kHarvestNumbers) out[known.name] = choice.*(known.member);
  return out;
}

Json harvest_schema() {
  Json properties = Json::object();
  for (const HarvestSwitch& known : kHarvestSwitches) {
    properties[known.name] = {{"type", "boolean"}, {"description", known.doc}};
  }
  for (const HarvestNumber& known : kHarvestNumbers) {
    properties[known.name] = {
        {"type", "integer"}, {"minimum", known.least}, {"maximum", known.most}, {"description", known.doc}};
  }
  return {{"type", "object"},
          {"additionalProperties", false},
          {"properties", properties},
          {"description", "spare memory of GPUs for what their peers evict, as HUVM does; default: none of it"}};
}

}  // namespace uvmsim::scenario
