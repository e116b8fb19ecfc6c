// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/harvest_json.h"

#include <array>

namespace uvmsim::scenario {
namespace {

using Json = nlohmann::ordered_json;

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

HarvestChoice read_harvest(const JsonValue& object) {
  HarvestChoice choice;
  std::vector<std::string> names;
  for (const HarvestSwitch& known : kHarvestSwitches) {
    names.emplace_back(known.name);
    if (const auto value = object.find(known.name)) choice.*(known.member) = value->boolean();
  }
  for (const HarvestNumber& known : kHarvestNumbers) {
    names.emplace_back(known.name);
    if (const auto value = object.find(known.name)) {
      choice.*(known.member) = static_cast<std::uint32_t>(value->integer(known.least, known.most));
    }
  }
  object.check_keys(names);
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
