// SPDX-License-Identifier: Apache-2.0
// The choice of a policy for each slot of a run, and the table that describes the slots. All code that lists slots
// (options, sweeps, results, comparisons, leagues) uses kPolicySlots.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/policy/slots.h"

namespace uvmsim {

namespace policy {
class Registry;
}  // namespace policy

struct PolicyChoice {
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters;  // keys and values as given
  bool operator==(const PolicyChoice&) const = default;
};

// The default of each slot is the driver's own policy (for `schedule`, the GPU's).
struct PolicyChoices {
  PolicyChoice prefetch{"tree", {}};
  PolicyChoice evict{"lrm", {}};
  PolicyChoice plan{"none", {}};
  PolicyChoice migrate{"first_touch", {}};
  PolicyChoice route{"direct", {}};
  PolicyChoice schedule{"round_robin", {}};  // of scenarios whose programs share GPUs
  PolicyChoice batch{"driver", {}};
};

struct SlotInfo {
  std::string_view name;  // in options, JSON keys, columns and messages
  PolicyChoice PolicyChoices::*choice;
  // Points and results name it even if it is the driver's.
  bool always_named = false;
  // Programs that share a GPU must agree on it.
  bool of_gpu = false;
  // The help of `uvmsim run --help` and of the keys of a sweep.
  const char* option_help = nullptr;  // null: `run` has no such option
  const char* axis_help;
};
// All slots, in the order of Slot.
std::span<const SlotInfo> slot_infos();
inline const SlotInfo& slot_info(policy::Slot slot) { return slot_infos()[static_cast<std::size_t>(slot)]; }

// All slots of a run of one program, in the order in which every list has them.
inline constexpr auto kPolicySlots = [] {
  std::array<policy::Slot, policy::Slots::kCount - 1> slots{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < policy::Slots::kCount; ++i) {
    const auto slot = static_cast<policy::Slot>(i);
    if (slot != policy::Slot::kSchedule) slots[count++] = slot;
  }
  return slots;
}();

inline PolicyChoice PolicyChoices::*choice_of(policy::Slot slot) { return slot_info(slot).choice; }
const PolicyChoice& driver_choice(policy::Slot slot);
// Returns whether the choice is the driver's own policy, with any parameters.
inline bool is_driver_choice(const PolicyChoices& choices, policy::Slot slot) {
  return (choices.*choice_of(slot)).name == driver_choice(slot).name;
}
inline bool is_always_named(policy::Slot slot) { return slot_info(slot).always_named; }
// Returns whether points and results name the choice.
inline bool is_named(const PolicyChoices& choices, policy::Slot slot) {
  return is_always_named(slot) || !is_driver_choice(choices, slot);
}

// Throws InputError for a policy that is not registered, and for a policy of several slots (registry.h) that is not
// chosen in all of them with the same parameters.
void check_choices(const PolicyChoices& choices, const policy::Registry& registry);

}  // namespace uvmsim
