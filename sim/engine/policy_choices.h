// SPDX-License-Identifier: Apache-2.0
// Which policy fills which slot of a run. Whoever lists slots (options, sweeps, results, comparisons) goes through
// kPolicySlots: a new one needs its lines here and in the .cpp, and is in all of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/policy/policy.h"

namespace uvmsim {

// The planner that is none: the driver serves faults and nothing else.
inline constexpr const char* kNoPlan = "none";

// The migrate policy that is none: what faults comes to the GPU.
inline constexpr const char* kFirstTouch = "first_touch";

// The route policy that is none: memory takes the link that joins its ends.
inline constexpr const char* kDirectRoute = "direct";

// The schedule policy that is the GPU's own: processes that share it take turns of the system's time slice.
inline constexpr const char* kRoundRobin = "round_robin";

// The batch policy that is none: the driver takes what is there.
inline constexpr const char* kDriverBatches = "driver";

struct PolicyChoice {
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters;  // as given: key, value
  bool operator==(const PolicyChoice&) const = default;
};

// The driver's own by default.
struct PolicyChoices {
  PolicyChoice prefetch{"tree", {}};
  PolicyChoice evict{"lrm", {}};
  PolicyChoice plan{kNoPlan, {}};
  PolicyChoice migrate{kFirstTouch, {}};
  PolicyChoice route{kDirectRoute, {}};
  PolicyChoice schedule{kRoundRobin, {}};  // of scenarios whose programs share GPUs
  PolicyChoice batch{kDriverBatches, {}};
};

// All slots of a run of one program, in the order of every list of them.
inline constexpr policy::Slot kPolicySlots[] = {policy::Slot::kPrefetch, policy::Slot::kEvict, policy::Slot::kPlan,
                                                policy::Slot::kMigrate,  policy::Slot::kRoute, policy::Slot::kBatch};
// The member for a slot; the driver's own policy there.
PolicyChoice PolicyChoices::*choice_of(policy::Slot slot);
const PolicyChoice& driver_choice(policy::Slot slot);
// Points and results name it also where it is the driver's.
constexpr bool is_always_named(policy::Slot slot) {
  return slot == policy::Slot::kPrefetch || slot == policy::Slot::kEvict;
}
// What `uvmsim run --help` and the keys of a sweep say of it.
const char* slot_option_help(policy::Slot slot);
const char* slot_axis_help(policy::Slot slot);

// Throws InputError for an unknown policy, and for one that fills several slots (registry.h) but is not chosen
// in all of them with the same parameters.
void check_choices(const PolicyChoices& choices);

}  // namespace uvmsim
