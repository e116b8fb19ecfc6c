// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/live_memory.h"

#include <algorithm>
#include <utility>

#include "sim/common/check.h"

namespace uvmsim::engine {

// Counts a user of the blocks, or one less.
void LiveMemory::add(const layout::BlockList& blocks, bool comes) {
  blocks.for_each_run([&](const layout::BlockList::Run& run) {
    const auto begin = boundary(run.first.value), end = boundary(run.first.value + run.count);
    for (auto users = begin; users != end; ++users) {
      UVMSIM_CHECK(comes || users->second != 0, "block {} is freed twice", users->first);
      users->second += comes ? 1u : ~0u;
    }
    join(begin);
    join(end);
  });
}

// Makes a run begin at the block.
LiveMemory::Users::iterator LiveMemory::boundary(std::uint64_t block) {
  const auto next = users_.lower_bound(block);
  if (next != users_.end() && next->first == block) return next;
  return users_.emplace_hint(next, block, std::prev(next)->second);
}

// Makes it one run with the one before if both have as many users.
void LiveMemory::join(Users::iterator run) {
  if (run != users_.begin() && std::prev(run)->second == run->second) users_.erase(run);
}

void LiveMemory::allocated(trace::ObjectId id, const layout::BlockList& blocks, std::uint64_t record) {
  if (blocks.empty()) return;
  blocks_of_[id] = blocks;
  coming_.push_back({record, blocks});
}

void LiveMemory::segment_used(trace::ObjectId id, const layout::BlockList& blocks, std::uint64_t record) {
  if (segments_.erase(id) != 0) allocated(id, blocks, record);
}

void LiveMemory::freed(trace::ObjectId id, std::uint64_t record) {
  segments_.erase(id);
  const auto found = blocks_of_.find(id);
  if (found == blocks_of_.end()) return;
  going_.push_back({record, std::move(found->second)});
  blocks_of_.erase(found);
}

void LiveMemory::begins(std::uint64_t record) {
  for (; !coming_.empty() && coming_.front().record <= record; coming_.pop_front()) add(coming_.front().blocks, true);
}

void LiveMemory::done_before(std::uint64_t record) {
  if (going_.empty() || going_.front().record >= record) return;
  begins(record);  // memory is allocated before it is freed
  for (; !going_.empty() && going_.front().record < record; going_.pop_front()) add(going_.front().blocks, false);
}

}  // namespace uvmsim::engine
