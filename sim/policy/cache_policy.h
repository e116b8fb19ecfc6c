// SPDX-License-Identifier: Apache-2.0
// The driver's events as a cache sees them: a base for evictors that are textbook replacement policies.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/policy/chunk_list.h"
#include "sim/policy/overrides.h"
#include "sim/policy/policy.h"

namespace uvmsim::policy {

// A policy says what to do on a miss, a hit and a replacement; the rest is the same for all:
//  - A chunk is cached from the end of the operation that brought its first page until it is evicted, freed, or holds
//    nothing any more. Chunks that hold nothing (emptied, discarded) are evicted before any that do, oldest first.
//  - Pages that come to a chunk which is cached are no access: otherwise a chunk that is filled in pieces by many fault
//    batches would look used many times. Touches of kernels are accesses.
class CachePolicy : public Evictor {
 public:
  void on_allocated(ChunkId chunk, ContentIndex content) final { contents_[chunk.value] = content; }
  void on_migrated(ChunkId chunk) final {
    if (!cached_[chunk.value]) start(chunk);
  }
  void on_touched(ChunkId chunk) final {
    if (cached_[chunk.value]) {
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
      announce(queries.incoming());
      victim = replace(queries);
      if (victim.valid()) cached_[victim.value] = false;
    }
    return victim;
  }
  ChunkId select_early_victim(const EvictionQueries& queries) final {
    const ChunkId victim = replace_early(queries);
    if (victim.valid()) cached_[victim.value] = false;
    return victim;
  }

  // An access to a chunk that is cached. Only for policies of class D2 and up; public, so that whoever overrides it in
  // whatever place is seen to.
  virtual void hit([[maybe_unused]] ChunkId chunk) {}
  template <class Policy>
  static constexpr bool hears_hits() {
    return UVMSIM_OVERRIDES(Policy, CachePolicy, hit);
  }

 protected:
  explicit CachePolicy(const PolicyContext& context)
      : contents_(context.chunk_count), cached_(context.chunk_count, false), empty_(context.chunk_count) {}

  ContentIndex content_of(ChunkId chunk) const { return contents_[chunk.value]; }
  // For policies that can add their own state and never ask for contents: which chunks are cached and which are empty.
  void add_cache_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const {
    empty_.add_state(digest, names);
  }

  // A content that is not in memory is accessed: once per miss, before replace() if memory is full, and insert().
  virtual void miss([[maybe_unused]] ContentIndex content) {}
  // The content that missed is in memory from now on.
  virtual void insert(ChunkId chunk) = 0;
  // A cached chunk is no longer: it was emptied or freed, not evicted.
  virtual void remove(ChunkId chunk) = 0;
  // Chooses a cached chunk that is evictable and takes it out, ChunkId{} if there is none.
  virtual ChunkId replace(const EvictionQueries& queries) = 0;
  // The same when nothing missed, for Evictor::select_early_victim; nothing is replaced early by default.
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
    announced_ = kNobody;
    empty_.remove(chunk);
    cached_[chunk.value] = true;
    insert(chunk);
  }
  void stop(ChunkId chunk) {
    if (cached_[chunk.value]) {
      cached_[chunk.value] = false;
      remove(chunk);
    }
  }

  static constexpr ContentIndex kNobody{~std::uint64_t{0}};

  ContentIndex announced_ = kNobody;  // its miss was told, its insertion was not
  std::vector<ContentIndex> contents_;
  std::vector<bool> cached_;
  ChunkLists empty_;
};

}  // namespace uvmsim::policy
