// SPDX-License-Identifier: Apache-2.0
// Runs a program under every shipped policy and checks that no bound is beaten.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/bounds/bounds.h"
#include "sim/policy/registry.h"
#include "tests/engine/program.h"

namespace uvmsim {

struct Closest {                        // the closest of all results so far
  double time = 0, htod = 0, dtoh = 0;  // largest bound / simulated
};

inline void expect_ordered(const bounds::TimeBounds& time) {
  EXPECT_LE(time.compute, time.cold);
  EXPECT_LE(time.cold, time.min);
  EXPECT_LE(time.min, time.windowed);
  EXPECT_LE(time.windowed, time.write_backs);
}

inline void expect_not_beaten(const bounds::Bounds& bounds, const RunResult& result, Closest& closest) {
  EXPECT_EQ(bounds.capacity_bytes, result.capacity_bytes * bounds.gpus.size());
  EXPECT_LE(bounds.time.compute, result.ideal);
  EXPECT_LE(bounds.time.best(), result.total);
  EXPECT_LE(bounds.bytes.htod, bytes_in(result.counters));
  EXPECT_LE(bounds.bytes.dtoh, bytes_out(result.counters));
  const auto ratio = [](std::uint64_t bound, std::uint64_t value) {
    return value == 0 ? 0.0 : static_cast<double>(bound) / static_cast<double>(value);
  };
  closest.time = std::max(closest.time, ratio(static_cast<std::uint64_t>(bounds.time.best().value),
                                              static_cast<std::uint64_t>(result.total.value)));
  closest.htod = std::max(closest.htod, ratio(bounds.bytes.htod, bytes_in(result.counters)));
  closest.dtoh = std::max(closest.dtoh, ratio(bounds.bytes.dtoh, bytes_out(result.counters)));
}

// The pairs of policies to run: only the driver's own, every n-th (beginning with one that `seed` chooses), or all.
enum class Policies : std::uint8_t { kDrivers, kSome, kAll };

inline std::vector<std::pair<PolicyChoice, PolicyChoice>> policy_pairs(Policies which, std::uint64_t seed) {
  constexpr std::size_t kSome = 6;
  if (which == Policies::kDrivers) return {{{"tree", {}}, {"lrm", {}}}};
  std::vector<std::pair<PolicyChoice, PolicyChoice>> pairs;
  const auto policies = policy::built_ins()->list();
  for (const policy::PolicyEntry* prefetch : policies) {
    if (prefetch->slot != policy::Slot::kPrefetch || prefetch->joint()) continue;
    for (const policy::PolicyEntry* evict : policies) {
      if (evict->slot == policy::Slot::kEvict && !evict->joint()) {
        pairs.push_back({{prefetch->info.name, {}}, {evict->info.name, {}}});
      }
    }
  }
  if (which == Policies::kAll || pairs.size() <= kSome) return pairs;
  const std::size_t stride = (pairs.size() + kSome - 1) / kSome;
  std::vector<std::pair<PolicyChoice, PolicyChoice>> some;
  for (std::size_t i = seed % stride; i < pairs.size(); i += stride) some.push_back(pairs[i]);
  return some;
}

// Planners run with the driver's policies.
inline std::vector<std::string> planners(Policies which, std::size_t gpus) {
  if (which == Policies::kDrivers) return {"deepum"};
  std::vector<std::string> names;
  for (const policy::PolicyEntry* plan : policy::built_ins()->list()) {
    if (plan->slot != policy::Slot::kPlan || plan->is_drivers_own) continue;
    if (plan->wants_future && gpus != 1) continue;  // such a planner knows the kernels of one GPU only
    names.push_back(plan->info.name);
  }
  return names;
}

// Returns migrate policies in the same way, and all that fill several slots.
inline std::vector<const policy::PolicyEntry*> migrate_and_joint_policies(Policies which) {
  std::vector<const policy::PolicyEntry*> entries;
  for (const policy::PolicyEntry* entry : policy::built_ins()->list()) {
    if (entry->joint() ? entry->slot != entry->slots.front() : entry->slot != policy::Slot::kMigrate) continue;
    if (which == Policies::kDrivers ? entry->info.name == "delayed" : !entry->is_drivers_own) entries.push_back(entry);
  }
  return entries;
}

// `make_source` returns a source of all records; it is called repeatedly.
template <class MakeSource>
void expect_never_beaten(const trace::Header& header, const MakeSource& make_source, RunOptions options,
                         Closest& closest, Policies which) {
  RunObserver observer;
  observer.reopen = [&]() -> RecordSource { return make_source(); };  // for those that know the future
  bounds::Bounds bounds = bounds::compute_bounds(header, make_source(), options);
  expect_ordered(bounds.time);
  for (const auto& [prefetch, evict] : policy_pairs(which, options.seed)) {
    SCOPED_TRACE(prefetch.name + " " + evict.name);
    options.prefetch = prefetch;
    options.evict = evict;
    expect_not_beaten(bounds, simulate(header, make_source(), options, observer), closest);
  }
  options.prefetch.name = "tree";
  options.evict.name = "lrm";
  for (const std::string& plan : planners(which, options.system.gpus.size())) {
    SCOPED_TRACE(plan);
    options.plan.name = plan;
    bounds = bounds::compute_bounds(header, make_source(), options);
    expect_ordered(bounds.time);
    expect_not_beaten(bounds, simulate(header, make_source(), options, observer), closest);
  }
  options.plan.name = "none";
  const PolicyChoices drivers = options;
  for (const policy::PolicyEntry* entry : migrate_and_joint_policies(which)) {
    SCOPED_TRACE(entry->info.name);
    static_cast<PolicyChoices&>(options) = drivers;
    for (const policy::Slot slot : entry->slots) (options.*choice_of(slot)).name = entry->info.name;
    bounds = bounds::compute_bounds(header, make_source(), options);
    expect_ordered(bounds.time);
    expect_not_beaten(bounds, simulate(header, make_source(), options, observer), closest);
  }
}

}  // namespace uvmsim
