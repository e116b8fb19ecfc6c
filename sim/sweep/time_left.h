// SPDX-License-Identifier: Apache-2.0
// Estimates how long the rest of a sweep will take, from the points that are done.
//
// The estimate uses the median of time over expected_cost(), so that a few large points with a low ratio do not
// dominate many small ones.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/sweep/point.h"

namespace uvmsim::sweep {

class TimeLeft {
 public:
  using Milliseconds = std::chrono::milliseconds;

  void note(const Point& point, Milliseconds took);

  // Estimates a point that has not run: its expected_cost() times the median ratio of the done points that are most
  // like it (same trace, layout and policies; else same trace; else any). Returns nothing before the first point is
  // done.
  std::optional<Milliseconds> of(const Point& point) const;

  // Estimates the remaining points on `processes` processes. A running point has run for `elapsed`, which may exceed
  // its estimate.
  struct Rest {
    const Point* point;
    Milliseconds elapsed{};
  };
  std::optional<Milliseconds> of(const std::vector<Rest>& rest, std::size_t processes) const;

 private:
  struct Done {
    std::uint64_t cost = 0, milliseconds = 0;
    bool is_faster_than(const Done& other) const;
    std::uint64_t milliseconds_for(std::uint64_t other_cost) const;
  };
  static Milliseconds left_of(Milliseconds whole, Milliseconds elapsed);
  // Returns the point's kinds, from the most to the least specific.
  static std::vector<std::string> kinds(const Point& point);

  std::map<std::string, std::vector<Done>> done_;  // by kind, the fastest per cost first
};

}  // namespace uvmsim::sweep
