// SPDX-License-Identifier: Apache-2.0
// After MHPE, the evictor of CPPE: MRU among old chunks until prefetched pages go unused, then LRU.
//
// This is not MHPE itself: only the abstract of the paper is public. The policy follows a summary of it (untouch level,
// forward distance, switch to LRU); all numbers are this project's. The paper counts pages that were prefetched and
// never touched; the driver's access bits are per chunk, so this policy counts pages of the victim that never came to
// the GPU.
#include <algorithm>
#include <vector>

#include "sim/policy/cache_policy.h"
#include "sim/policy/ghost_list.h"
#include "sim/policy/per_chunk.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class MhpeLike final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {
        .description = "like CPPE's MHPE: MRU among old chunks while victims were full, past a growing distance; LRU",
        .source = "after Yu et al., CPPE, IPDPS 2020, which is not public: numbers are ours",
        .information = InformationClass::kD2,
        .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() {
    return {integer("interval", 64, {1, 65536}, "misses after which the parts of the chain move on"),
            integer("untouch_limit", 32, {0, 65536},
                    "sixteenths of victims that never came to the GPU, in an interval, after which it is LRU for good"),
            integer("distance_limit", 32, {0, 65536}, "longest forward distance, in chunks")};
  }

  explicit MhpeLike(const PolicyContext& context)
      : CachePolicy(context),
        pages_per_sixteenth_(static_cast<std::uint32_t>(context.chunk_bytes / kBasePageBytes / 16)),
        interval_(static_cast<std::uint64_t>(context.parameters.integer("interval"))),
        untouch_limit_(static_cast<std::uint64_t>(context.parameters.integer("untouch_limit"))),
        distance_limit_(static_cast<std::uint64_t>(context.parameters.integer("distance_limit"))),
        chain_(context.chunk_count),
        evicted_(interval_) {}

  void on_freed(ContentIndex content) override { evicted_.take(content); }

 private:
  void miss(ContentIndex content) override {
    if (evicted_.take(content).has_value() && distance_ < distance_limit_) {
      ++distance_;  // a wrong eviction
    }
    if (++misses_ % interval_ == 0) {
      lru_ = lru_ || untouched_ > untouch_limit_;
      untouched_ = 0;
    }
  }
  void insert(ChunkId chunk) override { hit(chunk); }
  void hit(ChunkId chunk) override {
    chain_.move_to_back(0, chunk);
    last_interval_[chunk.value] = misses_ / interval_;
  }
  void remove(ChunkId chunk) override { chain_.remove(chunk); }

  ChunkId replace(const EvictionQueries& queries) override {
    ChunkId victim = lru_ ? ChunkId{} : youngest_of_the_old(queries);
    if (!victim.valid()) victim = chain_.first_evictable(0, queries);
    if (victim.valid()) {
      untouched_ += 16 - std::min(16u, queries.view(victim).resident_pages / pages_per_sixteenth_);
      evicted_.push(content_of(victim));
      chain_.remove(victim);
    }
    return victim;
  }
  ChunkId youngest_of_the_old(const EvictionQueries& queries) const {
    std::uint64_t passed = 0;
    for (ChunkId chunk = chain_.back(0); chunk.valid(); chunk = chain_.previous(chunk)) {
      const bool old = last_interval_[chunk.value] + 2 <= misses_ / interval_;
      if (old && passed++ >= distance_ && queries.evictable(chunk)) return chunk;
    }
    return {};
  }

  std::uint32_t pages_per_sixteenth_;
  std::uint64_t interval_, untouch_limit_, distance_limit_;
  ChunkLists chain_;
  PerChunk<std::uint64_t> last_interval_;
  GhostList<> evicted_;
  bool lru_ = false;
  std::uint64_t distance_ = 0, misses_ = 0, untouched_ = 0;
};

}  // namespace

UVMSIM_POLICY(mhpe_like, MhpeLike);

}  // namespace uvmsim::policy
