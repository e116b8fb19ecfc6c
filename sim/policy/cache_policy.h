// SPDX-License-Identifier: Apache-2.0
// A base for evictors that are textbook replacement policies: turns the driver's events into those of a cache.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/policy/chunk_list.h"
#include "sim/policy/overrides.h"
#include "sim/policy/per_chunk.h"
#include "sim/policy/policy.h"

namespace uvmsim::policy {

// A policy defines the reaction to a miss, a hit and a replacement; the rest is the same for all:
//  - A chunk is cached from the end of the operation that fetched its first page until it is evicted, freed, or holds
//    nothing any more. Empty chunks (emptied, discarded) are evicted before all others, oldest first.
//  - Pages that arrive in a cached chunk are no access: otherwise a chunk that many fault batches fill in pieces would
//    look as if it were used many times. Touches of kernels are accesses.
class CachePolicy : public Evictor {
 public:
  void on_allocated(ChunkId chunk, ContentIndex content) final { contents_[chunk.value] = content; }
  void on_migrated(ChunkId chunk) final {
    if (cached_[chunk.value] == 0) start(chunk);
  }
  void on_touched(ChunkId chunk) final {
    if (cached_[chunk.value] != 0) {
      hit(chunk);
    } else {
      start(chunk);
    }
  }
  void on_emptied(ChunkId chunk) final {
    stop(chunk);
    empty_.move_to_back(0, chunk);
  }
  void on_released(ChunkId chunk) final {
    stop(chunk);
    empty_.remove(chunk);
  }
  ChunkId select_victim(const EvictionQueries& queries) final {
    ChunkId victim = empty_.first_evictable(0, queries);
    if (!victim.valid()) {
      if (queries.incoming() != kNoContent) announce(queries.incoming());
      victim = replace(queries);
      if (victim.valid()) cached_[victim.value] = 0;
    }
    return victim;
  }
  ChunkId select_early_victim(const EvictionQueries& queries) final {
    const ChunkId victim = replace_early(queries);
    if (victim.valid()) cached_[victim.value] = 0;
    return victim;
  }

  // An access to a cached chunk. Class D2 and up only. It is public, so that overrides in any access section are
  // detected.
  virtual void hit([[maybe_unused]] ChunkId chunk) {}
  template <class Policy>
  static constexpr bool hears_hits() {
    return UVMSIM_OVERRIDES(Policy, CachePolicy, hit);
  }

 protected:
  explicit CachePolicy(const PolicyContext& context) : empty_(context.chunk_count) {}

  ContentIndex content_of(ChunkId chunk) const { return contents_[chunk.value]; }
  // Adds which chunks are cached and which are empty, for policies that can add their own state and never use contents.
  void add_cache_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const {
    empty_.add_state(digest, names);
  }

  // Called when content that is not in memory is accessed: once per miss, before replace() if memory is full, and
  // before insert().
  virtual void miss([[maybe_unused]] ContentIndex content) {}
  // Called when the missing content has arrived in memory.
  virtual void insert(ChunkId chunk) = 0;
  // Called when a cached chunk was emptied or freed, not evicted.
  virtual void remove(ChunkId chunk) = 0;
  // Chooses an evictable cached chunk and removes it; returns ChunkId{} if there is none.
  virtual ChunkId replace(const EvictionQueries& queries) = 0;
  // Does the same without a miss, for Evictor::select_early_victim(); by default nothing is replaced early.
  virtual ChunkId replace_early([[maybe_unused]] const EvictionQueries& queries) { return {}; }

 private:
  // One operation may evict several chunks for one content.
  void announce(ContentIndex content) {
    if (content != announced_) {
      announced_ = content;
      miss(content);
    }
  }
  void start(ChunkId chunk) {
    announce(content_of(chunk));
    announced_ = kNoContent;
    empty_.remove(chunk);
    cached_[chunk.value] = 1;
    insert(chunk);
  }
  void stop(ChunkId chunk) {
    if (cached_[chunk.value] != 0) {
      cached_[chunk.value] = 0;
      remove(chunk);
    }
  }

  ContentIndex announced_ = kNoContent;  // its miss was reported, its insertion was not
  PerChunk<ContentIndex> contents_;
  PerChunk<std::uint8_t> cached_;
  ChunkLists empty_;
};

}  // namespace uvmsim::policy
