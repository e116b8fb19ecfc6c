// SPDX-License-Identifier: Apache-2.0
// How long the rest of a sweep will take: learnt from the points that are done, not from sizes of files alone.
//
// By the median of time over expected_cost(): a few large points that go fast per byte must not speak for many small
// ones.
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

  // Of one point that has not run: its expected_cost() times the median ratio of the points that are like it (trace,
  // layout and policies; else trace; else any). Nothing before the first is done.
  std::optional<Milliseconds> of(const Point& point) const;

  // Of all that is left, on so many processes; a running one has had its `elapsed`, perhaps more than was expected.
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
  // From what is most like the point to what is least.
  static std::vector<std::string> kinds(const Point& point);

  std::map<std::string, std::vector<Done>> done_;  // by kind, the fastest per cost first
};

}  // namespace uvmsim::sweep
