// SPDX-License-Identifier: Apache-2.0
// Chunks ordered by the next use of their contents, for evictors of class D4.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/policy/chunk_heap.h"
#include "sim/policy/future.h"
#include "sim/policy/per_chunk.h"

namespace uvmsim::policy {

// Every call first updates the next uses that have passed, each once. The uses of an operation of at most
// `largest_whole` contents count as simultaneous, at the operation's begin, even while it runs: thread blocks go
// through a kernel side by side, and another block may still need what one has finished with.
class NextUseOrder {
 public:
  NextUseOrder(const Future& future, std::uint64_t largest_whole) : future_(future), largest_whole_(largest_whole) {}

  void insert(ChunkId chunk, ContentIndex content) {
    contents_[chunk.value] = content;
    arrivals_[chunk.value] = ++arrived_;
    place(chunk);
  }
  // Removes the chunk if it is in.
  void remove(ChunkId chunk) {
    soonest_.remove(chunk);
    furthest_.remove(chunk);
  }
  bool contains(ChunkId chunk) const { return soonest_.contains(chunk); }
  std::size_t size() const { return soonest_.size(); }

  // The evictable chunk whose next use is furthest; of equals the one that came first, because thread blocks wait for
  // the newest. ChunkId{} when there is none.
  ChunkId furthest(const EvictionQueries& queries) {
    update();
    return furthest_.first_evictable(queries);
  }
  // Calls f(chunk, next use) for each chunk in the order of ids; kNever counts as a next use.
  template <class F>
  void for_each(F&& f) {
    update();
    for (ChunkId chunk{0}; chunk.value < contents_.size(); ++chunk.value) {
      if (contains(chunk)) f(chunk, soonest_.key(chunk).first);
    }
  }
  // The furthest next use of all, which may be kNever. Without chunks it is the present.
  Future::Position furthest_use() {
    update();
    return furthest_.empty() ? present() : ~furthest_.key(furthest_.lowest()).first;
  }
  // The next use of the content after the current use, or after the current operation if its uses are simultaneous.
  Future::Position use_after_this(ContentIndex content) const {
    const Future::Position now = future_.now();
    const bool whole = future_.operation_contents(now) <= largest_whole_;
    const Future::Position next = future_.next_use(content, whole ? future_.operation_end(now) : now + 1);
    return next == Future::kNever ? next : placed(next);
  }
  // The position that next uses are compared with.
  Future::Position present() const { return placed(future_.now()); }

 private:
  using Key = std::pair<Future::Position, std::uint64_t>;  // next use (furthest_: inverted); arrival

  Future::Position placed(Future::Position use) const {
    return future_.operation_contents(use) <= largest_whole_ ? future_.operation_begin(use) : use;
  }
  void place(ChunkId chunk) {
    Future::Position next = future_.next_use(contents_[chunk.value], present());
    if (next != Future::kNever) next = placed(next);
    soonest_.set(chunk, {next, arrivals_[chunk.value]});
    furthest_.set(chunk, {~next, arrivals_[chunk.value]});
  }
  void update() {
    const Future::Position now = present();
    while (!soonest_.empty() && soonest_.key(soonest_.lowest()).first < now) place(soonest_.lowest());
  }

  const Future& future_;
  std::uint64_t largest_whole_;
  PerChunk<ContentIndex> contents_;
  PerChunk<std::uint64_t> arrivals_;  // of each chunk: its number
  std::uint64_t arrived_ = 0;
  ChunkHeap<Key> soonest_, furthest_;
};

}  // namespace uvmsim::policy
