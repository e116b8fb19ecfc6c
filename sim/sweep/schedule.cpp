// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/schedule.h"

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

namespace uvmsim::sweep {

std::uint64_t expected_cost(const Point& point) {
  std::error_code missing;
  const std::uintmax_t bytes = std::filesystem::file_size(point.trace, missing);
  // The work grows with the moved bytes, which grow with the factor. If only a capacity is given, the factor is
  // unknown.
  constexpr std::uint64_t kLargestFactor = 16'000, kUnknownFactor = 4'000;
  std::uint64_t factor = 500;
  if (point.osf_thousandths != 0) factor = std::min(point.osf_thousandths, kLargestFactor);
  if (point.capacity_bytes != 0) factor = kUnknownFactor;
  const std::uint64_t kibibytes = (missing ? 0 : static_cast<std::uint64_t>(bytes) / 1024) + 1;
  // Typical numbers: a recording has about three iterations, and a run that ends when it has settled about a dozen.
  constexpr std::uint64_t kRecorded = 3, kSettled = 12;
  const std::uint64_t iterations = point.as_recorded ? kRecorded : point.iterations != 0 ? point.iterations : kSettled;
  return kibibytes * factor * iterations / kRecorded;
}

Schedule::Schedule(const Plan& plan, const std::vector<std::size_t>& positions) : plan_(plan) {
  std::map<std::pair<std::string, bool>, std::size_t> group_of_trace;
  for (const std::size_t position : positions) {
    const Point& point = plan.points[position].point;
    const auto [found, added] = group_of_trace.try_emplace({point.trace, point.partial}, groups_.size());
    if (added) groups_.emplace_back();
    Group& group = groups_[found->second];
    group.positions.push_back(position);
    group.cost_left += expected_cost(point);
    group_of_[position] = found->second;
  }
  for (Group& group : groups_) {
    std::sort(group.positions.begin(), group.positions.end(), [&](std::size_t a, std::size_t b) {
      return std::tuple(expected_cost(plan.points[a].point), b) < std::tuple(expected_cost(plan.points[b].point), a);
    });
  }
}

std::optional<std::size_t> Schedule::take(std::optional<std::size_t> last) {
  Group* chosen = nullptr;
  if (last) {
    Group& own = groups_[group_of_.at(*last)];
    --own.workers;
    if (!own.positions.empty()) chosen = &own;
  }
  if (chosen == nullptr) {
    // Groups without a worker come before those that have one.
    for (Group& group : groups_) {
      if (group.positions.empty()) continue;
      const auto better = [](const Group& a, const Group& b) {
        return std::tuple(a.workers == 0, a.cost_left / (a.workers + 1)) >
               std::tuple(b.workers == 0, b.cost_left / (b.workers + 1));
      };
      if (chosen == nullptr || better(group, *chosen)) chosen = &group;
    }
  }
  if (chosen == nullptr) return std::nullopt;
  const std::size_t position = chosen->positions.back();
  chosen->positions.pop_back();
  chosen->cost_left -= expected_cost(plan_.points[position].point);
  ++chosen->workers;
  return position;
}

}  // namespace uvmsim::sweep
