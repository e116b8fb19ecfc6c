// SPDX-License-Identifier: Apache-2.0
// The common base of the oracles `min`, `min_kernel` and `min_bypass`: evicts the chunk whose next use is furthest
// away.
#pragma once

#include "sim/policy/cache_policy.h"
#include "sim/policy/next_use.h"

namespace uvmsim::policy {

class FurthestNextUse : public CachePolicy {
 protected:
  // `largest_whole` is as in NextUseOrder.
  FurthestNextUse(const PolicyContext& context, const Future& future, std::uint64_t largest_whole)
      : CachePolicy(context), by_next_use_(future, largest_whole) {}

  void insert(ChunkId chunk) override { by_next_use_.insert(chunk, content_of(chunk)); }
  void remove(ChunkId chunk) override { by_next_use_.remove(chunk); }
  ChunkId replace(const EvictionQueries& queries) override {
    const ChunkId victim = by_next_use_.furthest(queries);
    if (victim.valid()) remove(victim);
    return victim;
  }

  NextUseOrder by_next_use_;
};

}  // namespace uvmsim::policy
