// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/frames.h"

#include <algorithm>
#include <bit>

#include "sim/common/check.h"

namespace uvmsim::bounds {

Frames::Frames(std::size_t borders, std::uint64_t capacity_pages)
    : borders_(std::bit_ceil(std::max<std::size_t>(borders, 1))), capacity_(capacity_pages), nodes_(2 * borders_) {}

std::uint64_t Frames::most(std::size_t node, std::size_t low, std::size_t high, std::size_t first,
                           std::size_t end) const {
  if (end <= low || high <= first) return 0;
  if (first <= low && high <= end) return nodes_[node].most;
  const std::size_t middle = (low + high) / 2;
  return nodes_[node].added +
         std::max(most(2 * node, low, middle, first, end), most(2 * node + 1, middle, high, first, end));
}

void Frames::add(std::size_t node, std::size_t low, std::size_t high, std::size_t first, std::size_t end,
                 std::uint64_t pages) {
  if (end <= low || high <= first) return;
  if (first <= low && high <= end) {
    nodes_[node].added += pages;
    nodes_[node].most += pages;
    return;
  }
  const std::size_t middle = (low + high) / 2;
  add(2 * node, low, middle, first, end, pages);
  add(2 * node + 1, middle, high, first, end, pages);
  nodes_[node].most = nodes_[node].added + std::max(nodes_[2 * node].most, nodes_[2 * node + 1].most);
}

std::uint64_t Frames::keep(std::size_t first, std::size_t end, std::uint64_t pages) {
  if (first >= end) return pages;
  UVMSIM_CHECK(end <= borders_, "border {} of {}", end, borders_);
  const std::uint64_t kept = std::min(pages, capacity_ - most(1, 0, borders_, first, end));
  if (kept != 0) add(1, 0, borders_, first, end, kept);
  return kept;
}

}  // namespace uvmsim::bounds
