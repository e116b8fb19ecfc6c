// SPDX-License-Identifier: Apache-2.0
// Decides which pages can stay in GPU memory from one use to the next: at most its capacity at every border between two
// steps.
//
// Intervals come in the order of their ends, and as many pages of each stay as fit beside those that stay already. This
// maximises the total number of pages that stay, for every prefix of the program at once: an interval that ends earlier
// conflicts with the fewest later intervals (the exchange argument, docs/policies.md). The remaining pages are the
// least number of loads of any policy that may serve pages without keeping them (MIN with bypass).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace uvmsim::bounds {

class Frames {
 public:
  Frames(std::size_t borders, std::uint64_t capacity_pages);

  // Adds an interval over the borders [first, end). Returns how many of its pages stay. All pages of an empty interval
  // stay.
  std::uint64_t keep(std::size_t first, std::size_t end, std::uint64_t pages);

 private:
  struct Node {
    std::uint64_t most = 0;   // pages that stay at the fullest border below, without what is added above
    std::uint64_t added = 0;  // to every border below
  };
  std::uint64_t most(std::size_t node, std::size_t low, std::size_t high, std::size_t first, std::size_t end) const;
  void add(std::size_t node, std::size_t low, std::size_t high, std::size_t first, std::size_t end,
           std::uint64_t pages);

  std::size_t borders_;
  std::uint64_t capacity_;
  std::vector<Node> nodes_;
};

}  // namespace uvmsim::bounds
