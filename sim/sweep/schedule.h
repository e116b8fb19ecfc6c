// SPDX-License-Identifier: Apache-2.0
// Estimates how long the points of a sweep take, and orders them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "sim/sweep/plan.h"

namespace uvmsim::sweep {

// Estimates the cost of a point in arbitrary units, for comparison with other points only.
std::uint64_t expected_cost(const Point& point);

// A first estimate of how long points take, before any has run on this machine.
//
// The estimate is a range of CPU time, because expected_cost() knows the size of a trace and its limit but not the
// program's behaviour. Measured with the release preset on cores shared with other work, as CPU time of `uvmsim run
// WORKLOAD --system a100-pcie-80g --layout pytorch_caching --osf 1.5` and `3`: 66 and 76 units of expected_cost() per
// ms for alexnet, 107 and 151 for gpt2, 410 and 620 for bfs. A trace of a few KiB repeats a pattern, so its size does
// not tell its cost.
class CostGuess {
 public:
  void add(const Point& point) {
    ++points_;
    if (says_nothing(point)) {
      ++unknown_;
    } else {
      cost_ += expected_cost(point);
    }
  }
  // Counts a point whose cost cannot be guessed.
  void add_unknown() {
    ++points_;
    ++unknown_;
  }
  std::uint64_t points() const { return points_; }
  std::uint64_t unknown() const { return unknown_; }  // points whose cost cannot be guessed
  std::uint64_t least_ms() const { return cost_ / kMostPerMs; }
  std::uint64_t most_ms() const { return cost_ / kLeastPerMs; }

 private:
  static constexpr std::uint64_t kLeastPerMs = 60, kMostPerMs = 800;
  static constexpr std::uintmax_t kLeastTraceBytes = 16 << 10;
  static bool says_nothing(const Point& point) {
    std::error_code missing;
    return std::filesystem::file_size(point.trace, missing) < kLeastTraceBytes || missing;
  }

  std::uint64_t points_ = 0, unknown_ = 0, cost_ = 0;
};

// Points that share a trace form a group, so that a worker decodes it once. The most expensive points, and groups, run
// first, so that short ones remain at the end. A worker whose group is empty helps with the group that has most work
// left.
class Schedule {
 public:
  // `positions` are positions in the plan.
  Schedule(const Plan& plan, const std::vector<std::size_t>& positions);

  // Returns the next point for a worker whose last one was at `last`; nothing when all are taken.
  std::optional<std::size_t> take(std::optional<std::size_t> last);

 private:
  struct Group {
    std::vector<std::size_t> positions;  // in reverse order: the next one is at the back
    std::uint64_t cost_left = 0;
    std::size_t workers = 0;  // workers whose last point was of this group
  };

  const Plan& plan_;
  std::vector<Group> groups_;
  std::map<std::size_t, std::size_t> group_of_;  // by position
};

}  // namespace uvmsim::sweep
