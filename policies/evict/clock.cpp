// SPDX-License-Identifier: Apache-2.0
// CLOCK: first in, first out, but a chunk that was used since the hand last passed gets another round.
#include <algorithm>
#include <vector>

#include "sim/policy/cache_policy.h"
#include "sim/policy/per_chunk.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class Clock final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {.description = "CLOCK (second chance): first in, first out, past chunks used since the hand's last visit",
            .source = "Corbato 1968; rounds counted as in libCacheSim's clock",
            .information = InformationClass::kD2,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() {
    return {integer("bits", 1, {1, 8}, "bits of the use counter: up to 2^bits - 1 rounds are earned by hits")};
  }

  explicit Clock(const PolicyContext& context)
      : CachePolicy(context), most_((1u << context.parameters.integer("bits")) - 1), ring_(context.chunk_count) {}

  void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const override {
    add_cache_state(digest, names);
    ring_.add_state(digest, names, [this](ChunkId chunk) { return used_[chunk.value]; });
  }

 private:
  // The hand points at the front; chunks that it passes go to the back. A new chunk counts as unused.
  void insert(ChunkId chunk) override {
    used_[chunk.value] = 0;
    ring_.move_to_back(0, chunk);
  }
  void hit(ChunkId chunk) override { used_[chunk.value] = std::min(used_[chunk.value] + 1, most_); }
  void remove(ChunkId chunk) override { ring_.remove(chunk); }
  ChunkId replace(const EvictionQueries& queries) override {
    ChunkId chunk = ring_.first_evictable(0, queries);
    while (chunk.valid() && used_[chunk.value] > 0) {
      --used_[chunk.value];
      ring_.move_to_back(0, chunk);
      chunk = ring_.first_evictable(0, queries);
    }
    return ring_.take_first_evictable(0, queries);
  }

  unsigned most_;
  ChunkLists ring_;
  PerChunk<unsigned> used_;
};

}  // namespace

UVMSIM_POLICY(clock, Clock);

}  // namespace uvmsim::policy
