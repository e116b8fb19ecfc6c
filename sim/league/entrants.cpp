// SPDX-License-Identifier: Apache-2.0
#include "sim/league/entrants.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/policy/plugin.h"
#include "sim/policy/registry.h"

namespace uvmsim::league {
namespace {

using policy::PolicyEntry;
using policy::Slot;
using sweep::Point;

Point with_driver(Point point) {
  for (const Slot slot : slots()) point.*choice_of(slot) = driver_choice(slot);
  return point;
}

bool is_driver_s(const PolicyChoice& choice, Slot slot) { return choice == driver_choice(slot); }

bool is_driver(const Point& point) {
  const auto all = slots();
  return std::all_of(all.begin(), all.end(), [&](Slot slot) { return is_driver_s(point.*choice_of(slot), slot); });
}

// Without the plug-ins that it has no use for: a change of theirs makes no other point of it.
Point with_own_plugins(Point point) {
  std::erase_if(point.plugins, [&](const std::string& path) {
    const std::string file = policy::find_plugin(path);
    const auto entries = policy::default_registry().list();
    return std::none_of(entries.begin(), entries.end(), [&](const PolicyEntry* entry) {
      return entry->origin == file && entry->info.name == (point.*choice_of(entry->slot)).name;
    });
  });
  return point;
}

// The entrants of one contest on so many GPUs. One alone has no ways to choose between.
std::vector<Point> field_of(const Point& driver, const std::vector<Point>& combinations, std::size_t gpus) {
  std::set<std::string> plugins;
  for (const std::string& path : driver.plugins) plugins.insert(policy::find_plugin(path));
  const bool all = std::all_of(combinations.begin(), combinations.end(), is_driver);
  std::vector<Point> field{driver};
  if (!all) field.insert(field.end(), combinations.begin(), combinations.end());
  for (const PolicyEntry* entry : policy::default_registry().list()) {
    if (entry->built_in() ? !all : !plugins.contains(entry->origin)) continue;
    if (entry->slot != entry->slots.front()) continue;
    if (gpus == 1 && entry->slot == Slot::kRoute && entry->built_in()) continue;
    if (entry->slot == Slot::kSchedule) continue;                  // of several programs; these run alone
    if (entry->info.for_processes && entry->built_in()) continue;  // a contest has one
    field.push_back(driver);
    for (const Slot slot : entry->slots) field.back().*choice_of(slot) = {entry->info.name, {}};
  }
  return field;
}

}  // namespace

std::vector<Slot> slots() {
  std::set<Slot> found;
  for (const PolicyEntry* entry : policy::default_registry().list()) found.insert(entry->slot);
  found.erase(Slot::kSchedule);
  return {found.begin(), found.end()};
}

std::string entrant_name(const Point& point) {
  std::string name;
  for (const Slot slot : slots()) {
    const PolicyChoice& choice = point.*choice_of(slot);
    if (is_driver_s(choice, slot)) continue;
    name += (name.empty() ? "" : " + ") + std::string(policy::slot_name(slot)) + " " + sweep::policy_text(choice);
  }
  return name.empty() ? "driver" : name;
}

bool is_from_plugin(const Point& point) {
  const auto entries = policy::default_registry().list();
  const auto all = slots();
  return std::any_of(all.begin(), all.end(), [&](Slot slot) {
    return std::none_of(entries.begin(), entries.end(), [&](const PolicyEntry* entry) {
      return entry->slot == slot && entry->info.name == (point.*choice_of(slot)).name && entry->built_in();
    });
  });
}

std::vector<Point> league_points(const std::vector<Point>& points, sweep::Resolver& resolver) {
  std::vector<Point> contests;
  std::map<std::string, std::vector<Point>> combinations;  // by the contest's driver point
  const auto key = [](const Point& driver) { return sweep::to_json(driver).dump(); };
  for (Point point : points) {
    point.bounds = true;
    const Point driver = with_driver(point);
    std::vector<Point>& of_contest = combinations[key(driver)];
    if (of_contest.empty()) contests.push_back(driver);
    of_contest.push_back(std::move(point));
  }
  std::vector<Point> all;
  for (const Point& driver : contests) {
    const std::size_t gpus = resolver.resolve(driver).record.options.system.gpus.size();
    for (Point& point : field_of(driver, combinations[key(driver)], gpus)) {
      all.push_back(with_own_plugins(std::move(point)));
    }
  }
  return all;
}

}  // namespace uvmsim::league
