// SPDX-License-Identifier: Apache-2.0
// The list of policy slots. Code that does the same for every slot (registering, choosing, guarding, checking, Python)
// uses Slots, by interface, or the table of policy_choices.cpp, by Slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <variant>

#include "sim/policy/batcher.h"
#include "sim/policy/future.h"
#include "sim/policy/kernel_future.h"
#include "sim/policy/migrator.h"
#include "sim/policy/planner.h"
#include "sim/policy/policy.h"
#include "sim/policy/router.h"
#include "sim/policy/scheduler.h"

namespace uvmsim::policy {

enum class Slot : std::uint8_t { kPrefetch, kEvict, kPlan, kMigrate, kRoute, kSchedule, kBatch };

template <class... Interfaces>
struct SlotList {
  static constexpr std::size_t kCount = sizeof...(Interfaces);

  // Calls f.template operator()<Interface>() for each, in order.
  template <class F>
  static constexpr void for_each(F&& f) {
    (f.template operator()<Interfaces>(), ...);
  }
  // The number of interfaces that the class derives from.
  template <class Policy>
  static constexpr int filled_by() {
    return (0 + ... + int{std::is_base_of_v<Interfaces, Policy>});
  }
  template <class Interface>
  static constexpr Slot slot_of() {
    unsigned place = 0;
    static_cast<void>((... || (std::is_same_v<Interface, Interfaces> || (++place, false))));
    return static_cast<Slot>(place);
  }
  // std::variant<Of<Prefetcher>, Of<Evictor>, ...>, whose index is the Slot.
  template <template <class> class Of>
  using Variant = std::variant<Of<Interfaces>...>;
};

// The base class of each slot's policies, in the order of Slot.
using Slots = SlotList<Prefetcher, Evictor, Planner, Migrator, Router, Scheduler, Batcher>;
template <class Interface>
inline constexpr Slot kSlotOf = Slots::slot_of<Interface>();

// The kind of future that a policy of class D4 receives: kernels for a planner, uses for others.
template <class Policy>
using FutureOf = std::conditional_t<std::is_base_of_v<Planner, Policy>, KernelFuture, Future>;

}  // namespace uvmsim::policy
