// SPDX-License-Identifier: Apache-2.0
// The VA blocks that an object or a segment lies in, in order, as runs of neighbours: memory by runs, not by blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "sim/common/check.h"
#include "sim/common/units.h"

namespace uvmsim::layout {

class BlockList {
 public:
  struct Run {
    std::uint64_t at = 0;  // position of its first block in the list
    BlockIndex first;
    std::uint64_t count = 0;
  };

  BlockList() = default;
  BlockList(BlockIndex first, std::uint64_t count) { append(first, count); }

  bool empty() const { return size_ == 0; }
  std::uint64_t size() const { return size_; }
  BlockIndex front() const { return first_.first; }
  BlockIndex operator[](std::uint64_t position) const {
    const Run& run = rest_.empty() || position < rest_.front().at ? first_ : run_at(position);
    return BlockIndex(run.first.value + (position - run.at));
  }

  void append(BlockIndex first, std::uint64_t count) {
    if (count == 0) return;
    Run& last = rest_.empty() ? first_ : rest_.back();
    if (size_ == 0) {
      first_ = {0, first, count};
    } else if (last.first.value + last.count == first.value) {
      last.count += count;
    } else {
      rest_.push_back({size_, first, count});
    }
    size_ += count;
  }
  // Calls f(run), in order.
  template <class F>
  void for_each_run(F&& f) const {
    if (size_ != 0) f(first_);
    for (const Run& run : rest_) f(run);
  }
  // Returns the blocks [position, position + count).
  BlockList part(std::uint64_t position, std::uint64_t count) const {
    UVMSIM_CHECK(position + count <= size_, "blocks {} to {} of {}", position, position + count, size_);
    BlockList part;
    for_each_run([&](const Run& run) {
      const std::uint64_t begin = std::max(position, run.at), end = std::min(position + count, run.at + run.count);
      if (begin < end) part.append(BlockIndex(run.first.value + (begin - run.at)), end - begin);
    });
    return part;
  }
  // Replaces the blocks [position, position + count) by these neighbours. Positions between the list's end and
  // `position` must not be used until they are set.
  void set(std::uint64_t position, BlockIndex first, std::uint64_t count) {
    if (position == size_) return append(first, count);
    BlockList changed = part(0, std::min(position, size_));
    if (position > size_) changed.append(BlockIndex(0), position - size_);
    changed.append(first, count);
    if (position + count < size_) {
      part(position + count, size_ - position - count).for_each_run([&](const Run& run) {
        changed.append(run.first, run.count);
      });
    }
    *this = std::move(changed);
  }

 private:
  const Run& run_at(std::uint64_t position) const {
    return *std::prev(std::upper_bound(rest_.begin(), rest_.end(), position,
                                       [](std::uint64_t p, const Run& run) { return p < run.at; }));
  }

  Run first_;
  std::vector<Run> rest_;
  std::uint64_t size_ = 0;
};

}  // namespace uvmsim::layout
