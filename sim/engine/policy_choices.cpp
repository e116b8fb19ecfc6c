// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/policy_choices.h"

#include <fmt/format.h>

#include "sim/common/error.h"
#include "sim/policy/registry.h"

namespace uvmsim {

PolicyChoice PolicyChoices::*choice_of(policy::Slot slot) {
  switch (slot) {
    case policy::Slot::kPrefetch:
      return &PolicyChoices::prefetch;
    case policy::Slot::kEvict:
      return &PolicyChoices::evict;
    case policy::Slot::kPlan:
      return &PolicyChoices::plan;
    case policy::Slot::kMigrate:
      return &PolicyChoices::migrate;
    case policy::Slot::kSchedule:
      return &PolicyChoices::schedule;
    case policy::Slot::kRoute:
      return &PolicyChoices::route;
    case policy::Slot::kBatch:
      break;
  }
  return &PolicyChoices::batch;
}

const PolicyChoice& driver_choice(policy::Slot slot) {
  static const PolicyChoices drivers;
  return drivers.*choice_of(slot);
}

const char* slot_option_help(policy::Slot slot) {
  constexpr const char* kHelp[] = {
      "prefetch policy, default tree (the driver's)",
      "eviction policy, default lrm (the driver's)",
      "planner that prefetches and evicts ahead of the kernels, default none",
      "which faulted pages come to the GPU, and which are used on the host; default first_touch (the driver's)",
      "over which links memory moves between several GPUs and the host; default direct (the driver's)",
      "whose turn it is, of programs that share a GPU; default round_robin (the GPU's own)",
      "how many faults the driver takes at a time, when and in which order, and which SMs go on; default driver"};
  return kHelp[static_cast<unsigned>(slot)];
}

const char* slot_axis_help(policy::Slot slot) {
  constexpr const char* kHelp[] = {
      "prefetch policies: \"tree:threshold=51\", or {\"name\": ..., \"parameters\": {key: list}}",
      "eviction policies, likewise",
      "planners, likewise; default none",
      "migrate policies, likewise; default first_touch",
      "route policies, likewise; default direct",
      "schedule policies, likewise; default round_robin",
      "batch policies, likewise; default driver"};
  return kHelp[static_cast<unsigned>(slot)];
}

void check_choices(const PolicyChoices& choices) {
  for (const policy::Slot slot : kPolicySlots) {
    const PolicyChoice& choice = choices.*choice_of(slot);
    const policy::PolicyEntry& entry = policy::default_registry().find(slot, choice.name);
    for (const policy::Slot other : entry.slots) {
      if (choices.*choice_of(other) == choice) continue;
      std::string all;
      for (const policy::Slot filled : entry.slots) {
        all += fmt::format("{}{}", all.empty() ? "" : " and ", policy::slot_name(filled));
      }
      throw_input_error(
          "{} fills several slots, and '{}' is chosen for {}; allowed: the same policy with the same "
          "parameters for {}",
          entry.label(), (choices.*choice_of(other)).name, policy::slot_name(other), all);
    }
  }
}

}  // namespace uvmsim
