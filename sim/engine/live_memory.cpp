// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/live_memory.h"

#include <algorithm>
#include <utility>

#include "sim/common/check.h"

namespace uvmsim::engine {

void LiveMemory::allocated(trace::ObjectId id, const std::vector<BlockIndex>& blocks, std::uint64_t record) {
  if (blocks.empty()) return;
  blocks_of_[id] = blocks;
  coming_.push_back({record, blocks});
}

void LiveMemory::segment_used(trace::ObjectId id, const std::vector<BlockIndex>& blocks, std::uint64_t record) {
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
  for (; !coming_.empty() && coming_.front().record <= record; coming_.pop_front()) {
    for (const BlockIndex b : coming_.front().blocks) {
      if (b.value >= users_.size()) users_.resize(std::max<std::size_t>(b.value + 1, users_.size() * 2));
      ++users_[b.value];
    }
  }
}

void LiveMemory::done_before(std::uint64_t record) {
  if (going_.empty() || going_.front().record >= record) return;
  begins(record);  // what goes has come before
  for (; !going_.empty() && going_.front().record < record; going_.pop_front()) {
    for (const BlockIndex b : going_.front().blocks) {
      UVMSIM_CHECK(users_[b.value] != 0, "block {} is freed twice", b.value);
      --users_[b.value];
    }
  }
}

}  // namespace uvmsim::engine
