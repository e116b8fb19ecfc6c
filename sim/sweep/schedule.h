// SPDX-License-Identifier: Apache-2.0
// How long the points of a sweep may take, and in which order they run.
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

// How long a point may take, in no unit: only compared with others.
std::uint64_t expected_cost(const Point& point);

// A first guess of how long points take, before any has run on this machine.
//
// A range of CPU time, as expected_cost() knows the size of a trace and its limit, not what the program does with them.
// Measured with the release preset on cores shared with other work, as CPU time of `uvmsim run WORKLOAD --system
// a100-pcie-80g --layout pytorch_caching --osf 1.5` and `3`: 66 and 76 units of expected_cost() per ms for alexnet, 107
// and 151 for gpt2, 410 and 620 for bfs. A trace of a few KiB is a pattern repeated: its size says nothing.
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
  // A point of which nothing is guessed.
  void add_unknown() {
    ++points_;
    ++unknown_;
  }
  std::uint64_t points() const { return points_; }
  std::uint64_t unknown() const { return unknown_; }  // of them, without a guess
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
