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

// The memory limit. At most one member is not 0; if both are 0 there is no limit.
struct Limit {
  std::uint64_t osf_thousandths = 0;
  std::uint64_t capacity_bytes = 0;
};

// The number of marked iterations, as in Point.
struct Iterations {
  std::uint64_t number = 0;
  bool as_recorded = false;
};

// The values of one grid; every combination of them is a point.
struct Axes {
  std::vector<std::string> traces, layouts{"recorded"}, systems;
  std::vector<std::vector<std::string>> settings{{}};  // alternatives
  std::vector<Limit> osf, capacities;                  // both empty: no limit
  std::vector<std::uint64_t> footprints{0};
  std::map<policy::Slot, std::vector<PolicyChoice>> policies;  // a slot without an entry has the driver's policy
  std::vector<std::string> plugins;                            // every point has all of them
  std::vector<std::uint64_t> seeds{1}, time_scales{0};
  std::vector<Iterations> iterations{{}};
  std::vector<bool> host_gaps{true};
  std::string recorded_on;
  // The keys below are for grids of scenarios. A key that is empty, here or above, keeps the scenario's own value.
  std::vector<std::string> scenarios;
  std::vector<Limit> shared_osf, shared_capacities;
  std::vector<PolicyChoice> schedules;
  std::vector<std::string> sharings;
  bool alone = true;
  bool partial = false, bounds = false, until_settled = false, touched_footprint = false, hypothetical_capacity = false;
};

// One axis of a grid: alternative changes of the target, one of which each combination applies.
template <class Target>
using Changes = std::vector<std::function<void(Target&)>>;

// Applies every combination of changes to `start` and calls f with each result, in order; the last axis varies fastest.
// No axis may be empty.
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

// Throws InputError when `there` points plus the product of `sizes` exceed kLargestSweep.
void check_count(std::uint64_t there, const std::vector<std::size_t>& sizes, const JsonValue& object);

// The sizes of all axes.
template <class Target>
std::vector<std::size_t> sizes_of(const std::vector<Changes<Target>>& axes) {
  std::vector<std::size_t> sizes;
  for (const auto& changes : axes) sizes.push_back(changes.size());
  return sizes;
}

// The kind of grid in which a key is allowed.
enum class AxisOf { kPrograms, kScenarios, kBoth };

struct AxisKey {
  std::string_view name;
  AxisOf of;
  std::string_view doc;
  std::function<void(const JsonValue& value, Axes& axes)> read;
  nlohmann::ordered_json (*schema)();
};

// Returns the keys in the order in which they are documented.
const std::vector<AxisKey>& axis_keys();

// Appends every combination, in order; the limit varies fastest. Messages point to `object`, which the axes were read
// from. Throws InputError when there are more than kLargestSweep.
void append_points(const Axes& axes, const JsonValue& object, std::vector<Point>& points);

}  // namespace uvmsim::sweep
