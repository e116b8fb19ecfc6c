// SPDX-License-Identifier: Apache-2.0
// Which policy fills which slot of a run, and what the program says of each slot: a table, the only one. Whoever lists
// slots (options, sweeps, results, comparisons, leagues) goes through kPolicySlots.
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
  std::vector<std::pair<std::string, std::string>> parameters;  // as given: key, value
  bool operator==(const PolicyChoice&) const = default;
};

// The default of each is the driver's own (of `schedule`, the GPU's own).
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
  std::string_view name;  // of options, of keys in JSON, of columns and messages
  PolicyChoice PolicyChoices::*choice;
  // Points and results name it also where it is the driver's.
  bool always_named = false;
  // Programs that share a GPU agree in it.
  bool of_gpu = false;
  // What `uvmsim run --help` and the keys of a sweep say of it.
  const char* option_help = nullptr;  // null: it is no option of `run`
  const char* axis_help;
};
// All, in the order of Slot.
std::span<const SlotInfo> slot_infos();
inline const SlotInfo& slot_info(policy::Slot slot) { return slot_infos()[static_cast<std::size_t>(slot)]; }

// All slots of a run of one program, in the order of every list of them.
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
// It is the driver's own, with whatever parameters.
inline bool is_driver_choice(const PolicyChoices& choices, policy::Slot slot) {
  return (choices.*choice_of(slot)).name == driver_choice(slot).name;
}
inline bool is_always_named(policy::Slot slot) { return slot_info(slot).always_named; }
// Points and results name what is chosen.
inline bool is_named(const PolicyChoices& choices, policy::Slot slot) {
  return is_always_named(slot) || !is_driver_choice(choices, slot);
}

// Throws InputError for a policy that is not registered, and for one that fills several slots (registry.h) but is not
// chosen in all of them with the same parameters.
void check_choices(const PolicyChoices& choices, const policy::Registry& registry);

}  // namespace uvmsim
