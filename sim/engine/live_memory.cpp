// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/live_memory.h"

#include <algorithm>
#include <utility>

#include "sim/common/check.h"

namespace uvmsim::engine {

namespace {

template <class F>
void for_each_block(const layout::BlockList& blocks, F&& f) {
  blocks.for_each_run([&](const layout::BlockList::Run& run) {
    for (std::uint64_t i = 0; i < run.count; ++i) f(run.first.value + i);
  });
}

}  // namespace

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
  for (; !coming_.empty() && coming_.front().record <= record; coming_.pop_front()) {
    for_each_block(coming_.front().blocks, [&](std::uint64_t b) { ++users_[b]; });
  }
}

void LiveMemory::done_before(std::uint64_t record) {
  if (going_.empty() || going_.front().record >= record) return;
  begins(record);  // memory is allocated before it is freed
  for (; !going_.empty() && going_.front().record < record; going_.pop_front()) {
    for_each_block(going_.front().blocks, [&](std::uint64_t b) {
      UVMSIM_CHECK(users_[b] != 0, "block {} is freed twice", b);
      --users_[b];
    });
  }
}

}  // namespace uvmsim::engine
