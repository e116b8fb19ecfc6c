// How long the rest of a sweep will take: learnt from the points that are done, not from sizes of files alone.
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

  // Of one point that has not run: what points took that are like it (trace, layout and policies; else trace; else
  // any), by expected_cost(). Nothing before the first is done.
  std::optional<Milliseconds> of(const Point& point) const;

  // Of all that is left, on so many processes; a running one has had its `elapsed`.
  struct Rest {
    const Point* point;
    Milliseconds elapsed{};
  };
  std::optional<Milliseconds> of(const std::vector<Rest>& rest, std::size_t processes) const;

 private:
  struct Done {
    std::uint64_t cost = 0, milliseconds = 0;
  };
  // From what is most like the point to what is least.
  static std::vector<std::string> kinds(const Point& point);

  std::map<std::string, Done> done_;
};

}  // namespace uvmsim::sweep
