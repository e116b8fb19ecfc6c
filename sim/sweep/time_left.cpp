#include "sim/sweep/time_left.h"

#include <algorithm>

#include "sim/common/units.h"
#include "sim/sweep/schedule.h"

namespace uvmsim::sweep {

std::vector<std::string> TimeLeft::kinds(const Point& point) {
  const std::string trace = point.trace + "\n";
  std::string policies = trace + point.layout;
  for (const policy::Slot slot : kPolicySlots) policies += "\n" + policy_text(point.*choice_of(slot));
  return {policies, trace, ""};
}

void TimeLeft::note(const Point& point, Milliseconds took) {
  for (const std::string& kind : kinds(point)) {
    Done& done = done_[kind];
    done.cost += expected_cost(point);
    done.milliseconds += static_cast<std::uint64_t>(std::max<std::int64_t>(took.count(), 0));
  }
}

std::optional<TimeLeft::Milliseconds> TimeLeft::of(const Point& point) const {
  for (const std::string& kind : kinds(point)) {
    const auto done = done_.find(kind);
    if (done == done_.end() || done->second.cost == 0) continue;
    return Milliseconds(
        static_cast<std::int64_t>(WideUnsigned{expected_cost(point)} * done->second.milliseconds / done->second.cost));
  }
  return std::nullopt;
}

std::optional<TimeLeft::Milliseconds> TimeLeft::of(const std::vector<Rest>& rest, std::size_t processes) const {
  Milliseconds sum{}, longest{};
  for (const Rest& one : rest) {
    const auto whole = of(*one.point);
    if (!whole) return std::nullopt;
    const Milliseconds left = std::max(*whole - one.elapsed, Milliseconds{});
    sum += left;
    longest = std::max(longest, left);
  }
  return std::max(sum / static_cast<std::int64_t>(std::max<std::size_t>(processes, 1)), longest);
}

}  // namespace uvmsim::sweep
