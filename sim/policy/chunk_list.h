// SPDX-License-Identifier: Apache-2.0
// Ordered lists of root chunks for evictors: every operation is a few writes and none allocates.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/common/check.h"
#include "sim/policy/policy.h"

namespace uvmsim::policy {

// A fixed number of lists that share the chunks 0 .. chunk_count - 1; a chunk is on at most one of them at a time.
// Lists are numbered from 0, best by an enum of the policy. It takes 12 bytes per chunk up to the largest that was ever
// on a list.
class ChunkLists {
 public:
  explicit ChunkLists(std::uint32_t chunk_count, std::uint32_t list_count = 1)
      : chunk_count_(chunk_count), list_count_(list_count), links_(list_count), sizes_(list_count, 0) {
    for (std::uint32_t node = 0; node < list_count; ++node) links_[node] = {node, node};
  }

  // Move the chunk from its list, if any, to an end of the given one.
  void move_to_back(std::uint32_t list, ChunkId chunk) { insert_before(head_of(list), list, chunk); }
  void move_to_front(std::uint32_t list, ChunkId chunk) { insert_before(links_[head_of(list)].next, list, chunk); }
  // Removes the chunk from its list, if it is on one.
  void remove(ChunkId chunk) {
    UVMSIM_CHECK(chunk.value < chunk_count_, "chunk {} of {}", chunk.value, chunk_count_);
    if (!contains(chunk)) return;
    const std::uint32_t node = node_of(chunk);
    const Link link = links_[node];
    links_[link.previous].next = link.next;
    links_[link.next].previous = link.previous;
    links_[node] = {node, node};
    --sizes_[list_of_[chunk.value]];
  }

  // Returns whether the chunk is on any list; whether it is on this list; the list of a chunk that is on one.
  bool contains(ChunkId chunk) const {
    return chunk.value < list_of_.size() && links_[node_of(chunk)].next != node_of(chunk);
  }
  bool contains(std::uint32_t list, ChunkId chunk) const { return contains(chunk) && list_of_[chunk.value] == list; }
  std::uint32_t list_of(ChunkId chunk) const { return chunk.value < list_of_.size() ? list_of_[chunk.value] : 0; }
  bool empty(std::uint32_t list) const { return size(list) == 0; }
  std::uint32_t size(std::uint32_t list) const { return sizes_[list]; }

  // The ends of a list, and the neighbours of a chunk that is on one; ChunkId{} where there is none.
  ChunkId front(std::uint32_t list) const { return chunk_at(links_[head_of(list)].next); }
  ChunkId back(std::uint32_t list) const { return chunk_at(links_[head_of(list)].previous); }
  ChunkId next(ChunkId chunk) const { return chunk_at(links_[node_of(chunk)].next); }
  ChunkId previous(ChunkId chunk) const { return chunk_at(links_[node_of(chunk)].previous); }

  // Adds the lists in order, for Evictor::add_state; note(chunk) is the policy's own state of a chunk.
  template <class Note>
  void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names, Note&& note) const {
    for (std::uint32_t list = 0; list < list_count_; ++list) {
      digest.add(list);
      for (ChunkId chunk = front(list); chunk.valid(); chunk = next(chunk)) {
        digest.add(names[chunk.value]);
        digest.add(note(chunk));
      }
    }
  }
  void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const {
    add_state(digest, names, [](ChunkId) { return std::uint64_t{0}; });
  }

  // The first chunk from the front (the back) that may be evicted, ChunkId{} when the list has none.
  ChunkId first_evictable(std::uint32_t list, const EvictionQueries& queries) const {
    ChunkId chunk = front(list);
    while (chunk.valid() && !queries.evictable(chunk)) chunk = next(chunk);
    return chunk;
  }
  ChunkId last_evictable(std::uint32_t list, const EvictionQueries& queries) const {
    ChunkId chunk = back(list);
    while (chunk.valid() && !queries.evictable(chunk)) chunk = previous(chunk);
    return chunk;
  }
  // Returns the same chunk and removes it from the list.
  ChunkId take_first_evictable(std::uint32_t list, const EvictionQueries& queries) {
    const ChunkId chunk = first_evictable(list, queries);
    if (chunk.valid()) remove(chunk);
    return chunk;
  }

 private:
  // The lists are circular, with one node per list before the chunks' nodes, so that no end needs a special case.
  struct Link {
    std::uint32_t previous = 0;
    std::uint32_t next = 0;
  };

  std::uint32_t head_of(std::uint32_t list) const {
    UVMSIM_CHECK(list < list_count_, "list {} of {}", list, list_count_);
    return list;
  }
  std::uint32_t node_of(ChunkId chunk) const { return list_count_ + chunk.value; }
  ChunkId chunk_at(std::uint32_t node) const { return node < list_count_ ? ChunkId{} : ChunkId{node - list_count_}; }
  // Makes a node for every chunk up to this one. Fresh chunks come in ascending order, so that this is rare.
  void reach(ChunkId chunk) {
    list_of_.resize(std::size_t{chunk.value} + 1, 0);
    for (auto node = static_cast<std::uint32_t>(links_.size()); node <= node_of(chunk); ++node) {
      links_.push_back({node, node});
    }
  }
  void insert_before(std::uint32_t node, std::uint32_t list, ChunkId chunk) {
    UVMSIM_CHECK(chunk.value < chunk_count_, "chunk {} of {}", chunk.value, chunk_count_);
    const std::uint32_t own = node_of(chunk);
    if (node == own) {
      return;  // it is at the front already
    }
    if (chunk.value >= list_of_.size()) reach(chunk);
    remove(chunk);
    const std::uint32_t previous = links_[node].previous;
    links_[own] = {previous, node};
    links_[previous].next = own;
    links_[node].previous = own;
    list_of_[chunk.value] = list;
    ++sizes_[list];
  }

  std::uint32_t chunk_count_, list_count_;
  std::vector<Link> links_;
  std::vector<std::uint32_t> list_of_;  // by chunk; meaningful only while the chunk is on a list
  std::vector<std::uint32_t> sizes_;
};

}  // namespace uvmsim::policy
