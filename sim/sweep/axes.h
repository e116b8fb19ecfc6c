// SPDX-License-Identifier: Apache-2.0
// The keys of a sweep file: one table that reads, names and documents them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/formats/json_value.h"
#include "sim/sweep/point.h"

namespace uvmsim::sweep {

// How much memory: at most one is not 0; both 0: no limit.
struct Limit {
  std::uint64_t osf_thousandths = 0;
  std::uint64_t capacity_bytes = 0;
};

// The values of one grid; every combination of them is a point.
struct Axes {
  std::vector<std::string> traces, layouts{"recorded"}, systems;
  std::vector<std::vector<std::string>> settings{{}};  // alternatives
  std::vector<Limit> osf, capacities;                  // both empty: no limit
  std::vector<std::uint64_t> footprints{0};
  std::map<policy::Slot, std::vector<PolicyChoice>> policies;  // a slot that is not here: the driver's
  std::vector<std::string> plugins;                            // all of them in every point
  std::vector<std::uint64_t> seeds{1}, iterations{0}, time_scales{0};
  std::vector<bool> host_gaps{true};
  std::string recorded_on;
  // Of grids of scenarios; what is empty there, here or above, is as the scenario says.
  std::vector<std::string> scenarios;
  std::vector<Limit> shared_osf, shared_capacities;
  std::vector<PolicyChoice> schedules;
  std::vector<std::string> sharings;
  bool alone = true;
  bool partial = false, bounds = false, until_settled = false, touched_footprint = false, hypothetical_capacity = false;
};

// One axis of a grid as changes of what is being made: each combination has one of them.
template <class Target>
using Changes = std::vector<std::function<void(Target&)>>;

// Calls f(target) with every combination of changes of `start`, in order; the last axis varies fastest. None is empty.
template <class Target, class F>
void for_each_combination(const std::vector<Changes<Target>>& axes, const Target& start, F&& f) {
  std::vector<std::size_t> place(axes.size());
  for (bool more = true; more;) {
    Target target = start;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) axes[axis][place[axis]](target);
    f(std::move(target));
    more = false;
    for (std::size_t axis = axes.size(); axis-- > 0 && !more;) {
      place[axis] = (place[axis] + 1) % axes[axis].size();
      more = place[axis] != 0;
    }
  }
}

// Throws InputError when `there` points and so many more, the product of `sizes`, are more than kLargestSweep.
void check_count(std::uint64_t there, const std::vector<std::size_t>& sizes, const JsonValue& object);

// The sizes of all axes.
template <class Target>
std::vector<std::size_t> sizes_of(const std::vector<Changes<Target>>& axes) {
  std::vector<std::size_t> sizes;
  for (const auto& changes : axes) sizes.push_back(changes.size());
  return sizes;
}

// What kind of grids a key is for: programs alone, scenarios, or both.
enum class AxisOf { kPrograms, kScenarios, kBoth };

struct AxisKey {
  std::string_view name;
  AxisOf of;
  std::string_view doc;
  std::function<void(const JsonValue& value, Axes& axes)> read;
  nlohmann::ordered_json (*schema)();
};

// In the order in which they are documented.
const std::vector<AxisKey>& axis_keys();

// Every combination, in order; the limit varies fastest. `object` is what the axes were read from, for messages. Throws
// InputError when there are more than kLargestSweep.
void append_points(const Axes& axes, const JsonValue& object, std::vector<Point>& points);

}  // namespace uvmsim::sweep
