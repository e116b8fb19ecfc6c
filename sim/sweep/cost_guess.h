// SPDX-License-Identifier: Apache-2.0
// A first guess of how long points take, before any has run on this machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "sim/sweep/schedule.h"

namespace uvmsim::sweep {

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

}  // namespace uvmsim::sweep
