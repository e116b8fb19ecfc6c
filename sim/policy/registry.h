// SPDX-License-Identifier: Apache-2.0
// All policies by slot and name, and the macro that declares one.
//
//   class NextUnit final : public Prefetcher {
//    public:
//     static PolicyInfo info();                        // what it is; see policy.h
//     static ParameterTable parameters();              // what can be set; see parameters.h
//     explicit NextUnit(const PolicyContext& context); // reads its parameters
//     PageMask prefetch(const FaultedBlock& block) override;
//   };
//   UVMSIM_POLICY(next_unit, NextUnit);
//
// A policy of class D4 is built from (const PolicyContext&, const Future&) instead; future.h.
//
// The slot follows from the base class. A class may derive from several: it is registered in each of their slots, is
// chosen in all of them, and one object per GPU fills them all. The same file is a built-in or a plug-in:
// uvmsim_add_policy() in CMake decides.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "sim/policy/features.h"
#include "sim/policy/overrides.h"
#include "sim/policy/parameters.h"
#include "sim/policy/plugin_abi.h"
#include "sim/policy/slots.h"

namespace uvmsim::policy {

// Returns "prefetch", "evict", ...; the names are in policy_choices.h.
std::string_view slot_name(Slot slot);
// Returns "D0" .. "D4", and a text about what a policy of the class may know.
std::string_view information_class_name(InformationClass information);
std::string_view information_class_meaning(InformationClass information);

inline constexpr const char* kBuiltIn = "built-in";

// A hook that a policy class overrides and that is called only for policies of class `least` and up.
struct ClassedHook {
  const char* name;
  InformationClass least;
};

// Makes a policy of one slot. The future is null unless the policy wants it.
template <class Interface>
using Factory = std::function<std::shared_ptr<Interface>(const PolicyContext&, const FutureOf<Interface>*)>;

// One policy, as registered.
struct PolicyEntry {
  Slot slot = Slot::kPrefetch;  // the slot of `make`
  std::vector<Slot> slots;      // all slots that its class fills, ascending; empty: only this one
  PolicyInfo info;
  ParameterTable parameters;
  std::string origin;  // kBuiltIn or the path of the plug-in; the registry fills in an empty one
  // The driver's (of `schedule`, the GPU's) behaviour without a policy; set by the registry.
  bool is_drivers_own = false;
  Slots::Variant<Factory> make;
  bool wants_future = false;
  std::vector<ClassedHook> classed_hooks = {};

  // Sets the slot and the factory.
  template <class Interface>
  void fill(Factory<Interface> factory) {
    slot = kSlotOf<Interface>;
    make = std::move(factory);
  }
  // Names the policy in messages: "prefetch policy 'tree'".
  std::string label() const;
  // Adds the file of a plug-in: "prefetch policy 'mine' (./mine.so)".
  std::string label_with_origin() const;
  bool built_in() const { return origin == kBuiltIn; }
  // Returns whether it comes from a shared library, whose calls are guarded (guarded.h).
  bool from_plugin() const { return origin.find('/') != std::string::npos || origin.ends_with(".so"); }
  // Returns whether it fills several slots.
  bool joint() const { return slots.size() > 1; }
  // Returns the values in force; throws InputError as Parameters does.
  Parameters resolve(const GivenParameters& given) const;
  // Returns the size of an evict policy's chunks (PolicyInfo::granularity), and that of a root chunk for other
  // policies.
  std::uint64_t chunk_bytes(const GivenParameters& given) const;
  // Creates a fresh instance for `chunk_count` chunks of chunk_bytes(). Its random numbers follow from seed, slot and
  // name alone. `Interface` is that of the slot. Throws InputError for the parameters, and where a policy wants the
  // future and there is none. The future must outlive the policy; its contents have the size of an evictor's chunks, 64
  // KB for a prefetcher, 2 MB for a migrate or route policy. (A joint policy is created once and cast to its other
  // slots.)
  template <class Interface>
  std::shared_ptr<Interface> create(const GivenParameters& given, std::uint64_t seed, std::uint32_t chunk_count,
                                    const FutureOf<Interface>* future = nullptr) const {
    return std::get<std::shared_ptr<Interface>>(create_any(given, seed, chunk_count, future));
  }

 private:
  using AnyPolicy = Slots::Variant<std::shared_ptr>;
  using AnyFuture = std::variant<const Future*, const KernelFuture*>;
  AnyPolicy create_any(const GivenParameters& given, std::uint64_t seed, std::uint32_t chunk_count,
                       const AnyFuture& future) const;
};

// Policies by slot and name. A program that runs simulations makes one, with the built-ins and the plug-ins that it
// loads. It is not synchronised: plug-ins must be loaded before simulations run in other threads. Added entries do not
// move.
class Registry {
 public:
  explicit Registry(std::string origin = kBuiltIn) : origin_(std::move(origin)) {}

  // Throws InputError when the slot has a policy of that name (naming both origins), or the declaration is wrong.
  void add(PolicyEntry entry);
  // Does the same, but replaces a policy of the same origin, for interactive use.
  void add_or_replace(PolicyEntry entry);

  // Throws InputError that names the nearest and all known policies of the slot.
  const PolicyEntry& find(Slot slot, std::string_view name) const;
  bool has(Slot slot, std::string_view name) const { return entries_.contains({slot, std::string(name)}); }
  // Sorted by slot, then by name.
  std::vector<const PolicyEntry*> list() const;

  // Creates a policy as PolicyEntry::create() does. `chunk_count` is the number of the GPU's root chunks; an evictor
  // with chunks of 64 KB sees 32 times as many. Throws InputError for the name and the parameters.
  template <class Interface>
  std::shared_ptr<Interface> create(std::string_view name, const GivenParameters& given, std::uint64_t seed,
                                    std::uint32_t chunk_count, const FutureOf<Interface>* future = nullptr) const {
    const PolicyEntry& entry = find(kSlotOf<Interface>, name);
    const auto chunks = chunk_count * static_cast<std::uint32_t>(kBlockBytes / entry.chunk_bytes(given));
    return entry.create<Interface>(given, seed, chunks, future);
  }

 private:
  std::string origin_;
  std::map<std::pair<Slot, std::string>, PolicyEntry> entries_;
};

// The policies that the program is built with, which never change; a caller that loads plug-ins copies it.
const std::shared_ptr<const Registry>& built_ins();

// Defined in the file that CMake generates from the uvmsim_add_policy() calls.
void register_builtin_policies(Registry& registry);

// Lists the hooks of a class that a lower information class would disable.
template <class Policy>
std::vector<ClassedHook> classed_hooks_of() {
  std::vector<ClassedHook> hooks;
  const auto note = [&](bool overrides, const char* name, InformationClass least) {
    if (overrides) hooks.push_back({name, least});
  };
  if constexpr (std::is_base_of_v<Evictor, Policy>) {
    if constexpr (requires { Policy::template hears_hits<Policy>(); }) {  // a CachePolicy
      note(Policy::template hears_hits<Policy>(), "hit", InformationClass::kD2);
    } else {
      note(UVMSIM_OVERRIDES(Policy, Evictor, on_touched), "on_touched", InformationClass::kD2);
    }
  }
  if constexpr (std::is_base_of_v<Planner, Policy>) {
    note(UVMSIM_OVERRIDES(Policy, Planner, on_launched), "on_launched", InformationClass::kD3);
    note(UVMSIM_OVERRIDES(Policy, Planner, on_begin), "on_begin", InformationClass::kD3);
    note(UVMSIM_OVERRIDES(Policy, Planner, on_end), "on_end", InformationClass::kD3);
  }
  if constexpr (std::is_base_of_v<Migrator, Policy>) {
    note(UVMSIM_OVERRIDES(Policy, Migrator, fetch), "fetch", InformationClass::kD1);
    note(UVMSIM_OVERRIDES(Policy, Migrator, on_kernel), "on_kernel", InformationClass::kD3);
  }
  if constexpr (std::is_base_of_v<Router, Policy>) {
    note(UVMSIM_OVERRIDES(Policy, Router, on_kernels), "on_kernels", InformationClass::kD3);
  }
  if constexpr (std::is_base_of_v<FeatureListener, Policy>) {
    note(UVMSIM_OVERRIDES(Policy, FeatureListener, on_kernel), "on_kernel", InformationClass::kD3);
    note(UVMSIM_OVERRIDES(Policy, FeatureListener, on_prefetch_used), "on_prefetch_used", InformationClass::kD2);
    note(UVMSIM_OVERRIDES(Policy, FeatureListener, on_prefetch_wasted), "on_prefetch_wasted", InformationClass::kD2);
  }
  return hooks;
}

template <class Policy, class AnyFuture>
std::shared_ptr<Policy> make_policy(const PolicyContext& context, const AnyFuture* future) {
  if constexpr (std::is_constructible_v<Policy, const PolicyContext&, const AnyFuture&>) {
    return std::make_shared<Policy>(context, *future);
  } else {
    static_cast<void>(future);
    return std::make_shared<Policy>(context);
  }
}

// Registers a class; UVMSIM_POLICY calls it.
template <class Policy>
void add_policy(Registry& registry, const char* name) {
  constexpr int filled = Slots::filled_by<Policy>();
  static_assert(filled != 0, "a policy derives from the interface of a slot; slots.h lists them");
  constexpr bool wants_future = std::is_constructible_v<Policy, const PolicyContext&, const FutureOf<Policy>&>;
  static_assert(wants_future || std::is_constructible_v<Policy, const PolicyContext&>,
                "a policy is built from a PolicyContext, one of class D4 from a PolicyContext and a Future");
  static_assert(!(wants_future && std::is_base_of_v<Planner, Policy> && filled > 1),
                "a planner of class D4 fills no other slot: it is told another future");
  static_assert(!std::is_base_of_v<Scheduler, Policy> || !(wants_future || filled > 1),
                "a scheduler fills no other slot and knows no future: it serves several programs");
  PolicyEntry entry;
  entry.wants_future = wants_future;
  entry.info = Policy::info();
  if (entry.info.name.empty()) entry.info.name = name;
  entry.parameters = Policy::parameters();
  if (std::is_base_of_v<Evictor, Policy> && entry.info.granularity == Granularity::kEither) {
    entry.parameters.push_back(
        choice("granularity", "2m", {"2m", "64k"}, "what is evicted as one: a root chunk, or 64 KB of it"));
  }
  entry.classed_hooks = classed_hooks_of<Policy>();
  const auto for_each_filled = [](auto&& f) {
    Slots::for_each([&]<class Interface>() {
      if constexpr (std::is_base_of_v<Interface, Policy>) f.template operator()<Interface>();
    });
  };
  for_each_filled([&]<class Interface>() { entry.slots.push_back(kSlotOf<Interface>); });
  for_each_filled([&]<class Interface>() {
    entry.fill<Interface>(make_policy<Policy, FutureOf<Interface>>);
    registry.add(entry);
  });
}

}  // namespace uvmsim::policy

// UVMSIM_POLICY(name, Class) stands at namespace scope, once per file. The name is a C identifier, the one given to
// uvmsim_add_policy().
#ifdef UVMSIM_BUILTIN_POLICY
#define UVMSIM_POLICY(name, Class)                                               \
  extern "C" void uvmsim_register_##name(::uvmsim::policy::Registry& registry) { \
    ::uvmsim::policy::add_policy<Class>(registry, #name);                        \
  }                                                                              \
  static_assert(true)
#else
#define UVMSIM_POLICY(name, Class)                                                                                 \
  extern "C" __attribute__((visibility("default"))) const ::uvmsim::policy::PluginDescriptor uvmsim_policy_plugin; \
  const ::uvmsim::policy::PluginDescriptor uvmsim_policy_plugin = {                                                \
      ::uvmsim::policy::kPluginAbiVersion, 0, ::uvmsim::policy::kCompilerAbi, #name,                               \
      [](::uvmsim::policy::Registry& registry) { ::uvmsim::policy::add_policy<Class>(registry, #name); }}
#endif
