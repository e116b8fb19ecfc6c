// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/time_left.h"

#include <algorithm>

#include "sim/common/units.h"
#include "sim/sweep/schedule.h"

namespace uvmsim::sweep {

bool TimeLeft::Done::is_faster_than(const Done& other) const {
  return WideUnsigned{milliseconds} * other.cost < WideUnsigned{other.milliseconds} * cost;
}

std::uint64_t TimeLeft::Done::milliseconds_for(std::uint64_t other_cost) const {
  return static_cast<std::uint64_t>(WideUnsigned{other_cost} * milliseconds / cost);
}

std::vector<std::string> TimeLeft::kinds(const Point& point) {
  const std::string trace = point.trace + "\n";
  std::string policies = trace + point.layout;
  for (const policy::Slot slot : kPolicySlots) policies += "\n" + policy_text(point.*choice_of(slot));
  return {policies, trace, ""};
}

void TimeLeft::note(const Point& point, Milliseconds took) {
  const Done one{std::max<std::uint64_t>(expected_cost(point), 1),
                 static_cast<std::uint64_t>(std::max<std::int64_t>(took.count(), 0))};
  const auto is_faster = [](const Done& a, const Done& b) { return a.is_faster_than(b); };
  for (const std::string& kind : kinds(point)) {
    std::vector<Done>& done = done_[kind];
    done.insert(std::upper_bound(done.begin(), done.end(), one, is_faster), one);
  }
}

std::optional<TimeLeft::Milliseconds> TimeLeft::of(const Point& point) const {
  const std::uint64_t cost = expected_cost(point);
  for (const std::string& kind : kinds(point)) {
    const auto found = done_.find(kind);
    if (found == done_.end()) continue;
    const std::vector<Done>& done = found->second;
    const std::uint64_t below = done[(done.size() - 1) / 2].milliseconds_for(cost),
                        above = done[done.size() / 2].milliseconds_for(cost);
    return Milliseconds(static_cast<std::int64_t>(below + (above - below) / 2));
  }
  return std::nullopt;
}

// A point past its estimate is assumed to need as much time again as it is late, and at least a tenth of the estimate.
TimeLeft::Milliseconds TimeLeft::left_of(Milliseconds whole, Milliseconds elapsed) {
  if (elapsed == Milliseconds{}) return whole;
  return std::max({whole - elapsed, elapsed - whole, whole / 10});
}

std::optional<TimeLeft::Milliseconds> TimeLeft::of(const std::vector<Rest>& rest, std::size_t processes) const {
  Milliseconds sum{}, longest{};
  for (const Rest& one : rest) {
    const auto whole = of(*one.point);
    if (!whole) return std::nullopt;
    const Milliseconds left = left_of(*whole, one.elapsed);
    sum += left;
    longest = std::max(longest, left);
  }
  return std::max(sum / static_cast<std::int64_t>(std::max<std::size_t>(processes, 1)), longest);
}

}  // namespace uvmsim::sweep
