// SPDX-License-Identifier: Apache-2.0
// SIEVE: a queue in order of arrival and a hand that moves from old to new; survivors keep their place.
#include <vector>

#include "sim/policy/cache_policy.h"
#include "sim/policy/per_chunk.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class Sieve final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {.description = "SIEVE: the first chunk from the hand on that was not used since the hand last passed",
            .source = "Zhang et al., NSDI 2024",
            .information = InformationClass::kD2,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() { return {}; }

  explicit Sieve(const PolicyContext& context) : CachePolicy(context), queue_(context.chunk_count) {}

  void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const override {
    add_cache_state(digest, names);
    queue_.add_state(digest, names, [this](ChunkId chunk) { return used_[chunk.value]; });
    digest.add(hand_.valid() ? names[hand_.value] : ~std::uint64_t{0});
  }

 private:
  void insert(ChunkId chunk) override {
    used_[chunk.value] = 0;
    queue_.move_to_back(0, chunk);
  }
  void hit(ChunkId chunk) override { used_[chunk.value] = 1; }
  void remove(ChunkId chunk) override {
    if (chunk == hand_) hand_ = queue_.next(chunk);
    queue_.remove(chunk);
  }
  ChunkId replace(const EvictionQueries& queries) override {
    // In two rounds the hand clears and revisits every evictable chunk.
    for (std::uint32_t seen = 0; seen < 2 * queue_.size(0); ++seen) {
      if (!hand_.valid()) hand_ = queue_.front(0);
      const ChunkId chunk = hand_;
      if (queries.evictable(chunk)) {
        if (used_[chunk.value] == 0) {
          remove(chunk);
          return chunk;
        }
        used_[chunk.value] = 0;
      }
      hand_ = queue_.next(chunk);
    }
    return {};
  }

  ChunkLists queue_;  // oldest first
  PerChunk<std::uint8_t> used_;
  ChunkId hand_;  // invalid: at the oldest chunk
};

}  // namespace

UVMSIM_POLICY(sieve, Sieve);

}  // namespace uvmsim::policy
