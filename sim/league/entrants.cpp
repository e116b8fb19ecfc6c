// SPDX-License-Identifier: Apache-2.0
#include "sim/league/entrants.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/policy/plugin.h"
#include "sim/policy/registry.h"
#include "sim/sweep/run_length.h"

namespace uvmsim::league {
namespace {

using policy::PolicyEntry;
using policy::Slot;
using sweep::Point;

Point with_driver(Point point) {
  for (const Slot slot : kPolicySlots) point.*choice_of(slot) = driver_choice(slot);
  return point;
}

bool is_driver_s(const Point& point, Slot slot) { return point.*choice_of(slot) == driver_choice(slot); }

bool is_driver(const Point& point) {
  return std::ranges::all_of(kPolicySlots, [&](Slot slot) { return is_driver_s(point, slot); });
}

// Removes unused plug-ins, whose changes do not affect the point.
Point with_own_plugins(Point point, const sweep::Resolver& resolver) {
  std::erase_if(point.plugins,
                [&](const std::string& path) { return !resolver.uses_plugin(point, policy::find_plugin(path)); });
  return point;
}

// Returns the entrants of one contest on this number of GPUs. A single GPU has no routes to choose.
std::vector<Point> field_of(const Point& driver, const std::vector<Point>& combinations, std::size_t gpus,
                            const policy::Registry& registry) {
  std::set<std::string> plugins;
  for (const std::string& path : driver.plugins) plugins.insert(policy::find_plugin(path));
  const bool all = std::ranges::all_of(combinations, is_driver);
  std::vector<Point> field{driver};
  if (!all) field.insert(field.end(), combinations.begin(), combinations.end());
  for (const PolicyEntry* entry : registry.list()) {
    if (entry->built_in() ? !all : !plugins.contains(entry->origin)) continue;
    if (entry->slot != entry->slots.front()) continue;
    if (gpus == 1 && entry->slot == Slot::kRoute && entry->built_in()) continue;
    if (entry->slot == Slot::kSchedule) continue;                  // needs several programs; these run alone
    if (entry->info.for_processes && entry->built_in()) continue;  // a contest has one process
    field.push_back(driver);
    for (const Slot slot : entry->slots) field.back().*choice_of(slot) = {entry->info.name, {}};
  }
  return field;
}

}  // namespace

std::string entrant_name(const Point& point) {
  std::string name;
  for (const Slot slot : kPolicySlots) {
    if (is_driver_s(point, slot)) continue;
    name += (name.empty() ? "" : " + ") + std::string(policy::slot_name(slot)) + " " +
            sweep::policy_text(point.*choice_of(slot));
  }
  return name.empty() ? "driver" : name;
}

bool is_from_plugin(const Point& point) {
  return std::ranges::any_of(kPolicySlots,
                             [&](Slot slot) { return !policy::built_ins()->has(slot, (point.*choice_of(slot)).name); });
}

std::vector<Point> league_points(const std::vector<Point>& points, sweep::Resolver& resolver) {
  std::vector<Point> contests;
  std::map<std::string, std::vector<Point>> combinations;  // by the contest's driver point
  const auto key = [](const Point& driver) { return sweep::to_json(driver).dump(); };
  for (Point point : points) {
    point.bounds = true;
    point.until_settled = false;  // whole runs are compared as well, so all have the same length
    sweep::fix_length(point, resolver.trace(point));
    const Point driver = with_driver(point);
    std::vector<Point>& of_contest = combinations[key(driver)];
    if (of_contest.empty()) contests.push_back(driver);
    of_contest.push_back(std::move(point));
  }
  std::vector<Point> all;
  for (const Point& driver : contests) {
    const std::size_t gpus = resolver.resolve(driver).record.options.system.gpus.size();
    for (Point& point : field_of(driver, combinations[key(driver)], gpus, resolver.registry())) {
      all.push_back(with_own_plugins(std::move(point), resolver));
    }
  }
  return all;
}

}  // namespace uvmsim::league
