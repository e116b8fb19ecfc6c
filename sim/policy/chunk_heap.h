// SPDX-License-Identifier: Apache-2.0
// Chunks ordered by rank, for evictors: the lowest is evicted first. Every operation is logarithmic.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/common/check.h"
#include "sim/policy/per_chunk.h"
#include "sim/policy/policy.h"

namespace uvmsim::policy {

// A binary heap of chunks, each in it at most once. Keys are ordered by < and must be unique
// within the heap, as the order of equal keys is undefined; the time of the last access can be added to make them so.
template <class Key>
class ChunkHeap {
 public:
  bool contains(ChunkId chunk) const { return position_[chunk.value] != kAbsent; }
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  // Chunks from here on were never in the heap.
  std::uint32_t known_chunks() const { return position_.size(); }
  const Key& key(ChunkId chunk) const {
    UVMSIM_CHECK(contains(chunk), "chunk {} has no key", chunk.value);
    return heap_[position_[chunk.value] - 1].key;
  }

  // The lowest chunk of a heap that is not empty.
  ChunkId lowest() const {
    UVMSIM_CHECK(!heap_.empty(), "an empty heap");
    return ChunkId{heap_.front().chunk};
  }

  // Inserts the chunk, or changes its key.
  void set(ChunkId chunk, Key key) {
    if (!contains(chunk)) {
      heap_.push_back({std::move(key), chunk.value});
      position_[chunk.value] = static_cast<std::uint32_t>(heap_.size());
    } else {
      heap_[position_[chunk.value] - 1].key = std::move(key);
    }
    const std::uint32_t at = position_[chunk.value] - 1;
    down(up(at));
  }
  // Removes the chunk if it is in the heap.
  void remove(ChunkId chunk) {
    if (!contains(chunk)) return;
    const std::uint32_t at = position_[chunk.value] - 1;
    swap(at, static_cast<std::uint32_t>(heap_.size()) - 1);
    heap_.pop_back();
    position_[chunk.value] = kAbsent;
    if (at < heap_.size()) down(up(at));
  }

  // The lowest chunk that may be evicted, ChunkId{} when there is none. The heap does not change.
  ChunkId first_evictable(const EvictionQueries& queries) {
    ChunkId found{};
    while (!heap_.empty() && !found.valid()) {
      const ChunkId lowest{heap_.front().chunk};
      if (queries.evictable(lowest)) {
        found = lowest;
      } else {
        passed_over_.push_back(std::move(heap_.front()));
        remove(lowest);
      }
    }
    for (Entry& entry : passed_over_) set(ChunkId{entry.chunk}, std::move(entry.key));
    passed_over_.clear();
    return found;
  }

 private:
  static constexpr std::uint32_t kAbsent = 0;
  struct Entry {
    Key key;
    std::uint32_t chunk;
  };

  void swap(std::uint32_t a, std::uint32_t b) {
    std::swap(heap_[a], heap_[b]);
    position_[heap_[a].chunk] = a + 1;
    position_[heap_[b].chunk] = b + 1;
  }
  std::uint32_t up(std::uint32_t at) {
    while (at > 0 && heap_[at].key < heap_[(at - 1) / 2].key) {
      swap(at, (at - 1) / 2);
      at = (at - 1) / 2;
    }
    return at;
  }
  void down(std::uint32_t at) {
    const auto size = static_cast<std::uint32_t>(heap_.size());
    for (;;) {
      std::uint32_t lowest = at;
      for (const std::uint32_t child : {2 * at + 1, 2 * at + 2}) {
        if (child < size && heap_[child].key < heap_[lowest].key) lowest = child;
      }
      if (lowest == at) return;
      swap(at, lowest);
      at = lowest;
    }
  }

  std::vector<Entry> heap_;
  PerChunk<std::uint32_t> position_;  // by chunk: one more than its place in heap_
  std::vector<Entry> passed_over_;
};

}  // namespace uvmsim::policy
