// SPDX-License-Identifier: Apache-2.0
// Evicts a random chunk. It needs no information, and beats LRU where more than fits is read over and over.
#include <vector>

#include "sim/policy/cache_policy.h"
#include "sim/policy/per_chunk.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class RandomVictim final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {.description = "a chunk drawn at random, each with the same chance",
            .source = "Random eviction of Ganguly et al., ISCA 2019",
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() { return {}; }

  explicit RandomVictim(const PolicyContext& context) : CachePolicy(context), random_(context.random) {}

 private:
  void insert(ChunkId chunk) override {
    place_[chunk.value] = cached_.size();
    cached_.push_back(chunk);
  }
  void remove(ChunkId chunk) override {
    const std::size_t place = place_[chunk.value];
    cached_[place] = cached_.back();
    place_[cached_[place].value] = place;
    cached_.pop_back();
  }
  ChunkId replace(const EvictionQueries& queries) override {
    const std::size_t drawn = cached_.empty() ? 0 : random_.below(cached_.size());
    for (std::size_t i = 0; i < cached_.size(); ++i) {  // skips pinned chunks
      const ChunkId chunk = cached_[(drawn + i) % cached_.size()];
      if (queries.evictable(chunk)) {
        remove(chunk);
        return chunk;
      }
    }
    return {};
  }

  Random random_;
  std::vector<ChunkId> cached_;
  PerChunk<std::size_t> place_;  // of a chunk in cached_
};

}  // namespace

UVMSIM_POLICY(random, RandomVictim);

}  // namespace uvmsim::policy
