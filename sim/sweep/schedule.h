// SPDX-License-Identifier: Apache-2.0
// In which order the points of a sweep run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/sweep/plan.h"

namespace uvmsim::sweep {

// How long a point may take, in no unit: only compared with others.
std::uint64_t expected_cost(const Point& point);

// Points that share a trace form a group, so that a worker decodes it once. Within a group and among groups the longest
// comes first, so that what is left at the end is short; a worker whose group is used up helps with the one that has
// most left.
class Schedule {
 public:
  // Positions in the plan.
  Schedule(const Plan& plan, const std::vector<std::size_t>& positions);

  // The next point for a worker whose last one was at `last`. Nothing when all are taken.
  std::optional<std::size_t> take(std::optional<std::size_t> last);

 private:
  struct Group {
    std::vector<std::size_t> positions;  // the next one last
    std::uint64_t cost_left = 0;
    std::size_t workers = 0;  // that have taken from it last
  };

  const Plan& plan_;
  std::vector<Group> groups_;
  std::map<std::size_t, std::size_t> group_of_;  // by position
};

}  // namespace uvmsim::sweep
