// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/touched_blocks.h"

#include <algorithm>
#include <utility>

namespace uvmsim::layout {

void TouchedBlocks::touch(BlockIndex block, std::uint32_t slots) {
  const auto [at, is_first] = open_.try_emplace(block.value, Interval{now_, now_, slots});
  if (!is_first) at->second.last = now_;
}

void TouchedBlocks::release(BlockIndex block) {
  const auto at = open_.find(block.value);
  if (at == open_.end()) return;
  closed_.push_back(at->second);
  open_.erase(at);
}

std::uint64_t TouchedBlocks::peak_slots() const {
  std::vector<std::pair<std::uint64_t, std::int64_t>> changes;  // record, slots; what ends goes before what begins
  changes.reserve(2 * (closed_.size() + open_.size()));
  const auto add = [&](const Interval& interval) {
    const auto slots = static_cast<std::int64_t>(interval.slots);
    changes.emplace_back(interval.first, slots);
    changes.emplace_back(interval.last + 1, -slots);
  };
  for (const Interval& interval : closed_) add(interval);
  for (const auto& [block, interval] : open_) add(interval);
  std::sort(changes.begin(), changes.end());
  std::int64_t live = 0, peak = 0;
  for (const auto& [record, slots] : changes) {
    live += slots;
    peak = std::max(peak, live);
  }
  return static_cast<std::uint64_t>(peak);
}

}  // namespace uvmsim::layout
