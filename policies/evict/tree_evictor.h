// SPDX-License-Identifier: Apache-2.0
// Tree-based pre-eviction, for the policy of that name and for those that switch to it.
//
// It mirrors the tree prefetcher: after an eviction, every node over the victim that has pages but less than half of
// them loses the rest, from the leaves up; each node takes the losses below it into account.
#pragma once

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <vector>

#include "sim/policy/cache_policy.h"
#include "sim/policy/chunk_groups.h"
#include "sim/policy/per_chunk.h"

namespace uvmsim::policy {

// Chunks are 64 KB. The victim is the least recently used chunk of the least recently used 2 MB.
class TreeEvictor : public CachePolicy {
 public:
  void on_freed(ContentIndex content) override {
    if (content.value % blocks_.group_size() == 0) leaves_.erase(content.value / blocks_.group_size());
  }

 protected:
  explicit TreeEvictor(const PolicyContext& context)
      : CachePolicy(context), blocks_(context.chunk_count, static_cast<unsigned>(kBlockBytes / context.chunk_bytes)) {}

 private:
  // Asked per victim: whether all of its 2 MB is evicted with it.
  virtual bool whole_blocks() { return false; }

  void insert(ChunkId chunk) override {
    blocks_.insert(chunk, content_of(chunk));
    unsigned& leaves = leaves_[blocks_.number(blocks_.group_of(chunk))];
    leaves = std::max(leaves, blocks_.place(chunk) + 1);
  }
  void hit(ChunkId chunk) override { blocks_.use(chunk); }
  void remove(ChunkId chunk) override {
    chosen_[chunk.value] = 0;
    blocks_.remove(chunk);
  }

  ChunkId replace(const EvictionQueries& queries) override {
    ChunkId victim = next_chosen(queries);
    if (!victim.valid()) {
      victim = oldest(queries);
      if (victim.valid()) choose_around(victim);
    }
    if (victim.valid()) remove(victim);
    return victim;
  }
  // Evicts what the tree selected with the last victims.
  ChunkId replace_early(const EvictionQueries& queries) override {
    const ChunkId victim = next_chosen(queries);
    if (victim.valid()) remove(victim);
    return victim;
  }
  ChunkId oldest(const EvictionQueries& queries) const {
    for (GroupId block = blocks_.oldest(); block.valid(); block = blocks_.younger(block)) {
      const ChunkId victim = blocks_.oldest_evictable(block, queries);
      if (victim.valid()) return victim;
    }
    return {};
  }
  ChunkId next_chosen(const EvictionQueries& queries) {
    while (!waiting_.empty()) {
      const ChunkId chunk = waiting_.back();
      waiting_.pop_back();
      if (chosen_[chunk.value] != 0 && queries.evictable(chunk)) return chunk;
      chosen_[chunk.value] = 0;  // freed, reused, or currently in use
    }
    return {};
  }

  // Chooses the chunks to evict with the victim.
  void choose_around(ChunkId victim) {
    const GroupId block = blocks_.group_of(victim);
    // The tail of an allocation has a smaller tree, whose size follows from the leaves that ever existed.
    const unsigned leaves = std::bit_ceil(leaves_[blocks_.number(block)]);
    std::uint64_t valid = 0;  // bit per leaf
    for (unsigned leaf = 0; leaf < blocks_.group_size(); ++leaf) {
      const ChunkId chunk = blocks_.member(block, leaf);
      if (chunk.valid() && chunk != victim) valid |= std::uint64_t{1} << leaf;
    }
    std::uint64_t kept = whole_blocks() ? 0 : valid;
    for (unsigned size = 2; size <= leaves; size *= 2) {
      for (unsigned first = 0; first < leaves; first += size) {
        const std::uint64_t node = ((std::uint64_t{1} << size) - 1) << first;
        const auto count = static_cast<unsigned>(std::popcount(kept & node));
        if (2 * count < size) kept &= ~node;
      }
    }
    // In reverse, because chunks are taken from the back.
    for (unsigned leaf = blocks_.group_size(); leaf-- > 0;) {
      if (((valid & ~kept) >> leaf & 1) != 0) {
        const ChunkId chunk = blocks_.member(block, leaf);
        chosen_[chunk.value] = 1;
        waiting_.push_back(chunk);
      }
    }
  }

  ChunkGroups blocks_;
  PerChunk<std::uint8_t> chosen_;
  std::vector<ChunkId> waiting_;                        // chosen chunks in reverse order
  std::unordered_map<std::uint64_t, unsigned> leaves_;  // by block: one past the last leaf that ever existed
};

}  // namespace uvmsim::policy
