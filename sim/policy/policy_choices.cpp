// SPDX-License-Identifier: Apache-2.0
#include "sim/policy/policy_choices.h"

#include <fmt/format.h>

#include "sim/common/error.h"
#include "sim/policy/registry.h"

namespace uvmsim {
namespace {

constexpr SlotInfo kSlots[] = {
    {.name = "prefetch",
     .choice = &PolicyChoices::prefetch,
     .always_named = true,
     .option_help = "prefetch policy, default tree (the driver's)",
     .axis_help = "prefetch policies: \"tree:threshold=51\", or {\"name\": ..., \"parameters\": {key: list}}"},
    {.name = "evict",
     .choice = &PolicyChoices::evict,
     .always_named = true,
     .of_gpu = true,
     .option_help = "eviction policy, default lrm (the driver's)",
     .axis_help = "eviction policies, likewise"},
    {.name = "plan",
     .choice = &PolicyChoices::plan,
     .option_help = "planner that prefetches and evicts ahead of the kernels, default none",
     .axis_help = "planners, likewise; default none"},
    {.name = "migrate",
     .choice = &PolicyChoices::migrate,
     .of_gpu = true,
     .option_help = "which faulted pages come to the GPU, and which are used on the host; default first_touch (the "
                    "driver's)",
     .axis_help = "migrate policies, likewise; default first_touch"},
    {.name = "route",
     .choice = &PolicyChoices::route,
     .of_gpu = true,
     .option_help = "over which links memory moves between several GPUs and the host; default direct (the driver's)",
     .axis_help = "route policies, likewise; default direct"},
    {.name = "schedule",
     .choice = &PolicyChoices::schedule,
     .of_gpu = true,
     .axis_help = "schedule policies of GPUs that several programs use in time slices"},
    {.name = "batch",
     .choice = &PolicyChoices::batch,
     .of_gpu = true,
     .option_help = "how many faults the driver takes at a time, when and in which order, and which SMs go on; default "
                    "driver",
     .axis_help = "batch policies, likewise; default driver"},
};
static_assert(std::size(kSlots) == policy::Slots::kCount);

}  // namespace

std::span<const SlotInfo> slot_infos() { return kSlots; }

const PolicyChoice& driver_choice(policy::Slot slot) {
  static const PolicyChoices drivers;
  return drivers.*choice_of(slot);
}

void check_choices(const PolicyChoices& choices, const policy::Registry& registry) {
  for (const policy::Slot slot : kPolicySlots) {
    const PolicyChoice& choice = choices.*choice_of(slot);
    const policy::PolicyEntry& entry = registry.find(slot, choice.name);
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
