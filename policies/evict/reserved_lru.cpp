// SPDX-License-Identifier: Apache-2.0
// LRU that spares its oldest chunks, so that a part of a cyclic scan which does not fit stays.
#include "sim/policy/cache_policy.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class ReservedLru final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {.description = "reserved LRU: least recently used, but for the oldest few percent, which stay",
            .source = "reserved LRU of Ganguly et al., ISCA 2019",
            .information = InformationClass::kD2,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() {
    return {integer("reserve", 10, {0, 99}, "oldest chunks that are passed over, in percent of those in use")};
  }

  explicit ReservedLru(const PolicyContext& context)
      : CachePolicy(context),
        percent_(static_cast<std::uint64_t>(context.parameters.integer("reserve"))),
        lists_(context.chunk_count, kListCount) {}

  void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const override {
    add_cache_state(digest, names);
    lists_.add_state(digest, names);
  }

 private:
  // One LRU order cut in two: the reserved chunks, then the rest.
  enum List : std::uint32_t { kReserved, kRest, kListCount };

  void insert(ChunkId chunk) override {
    lists_.move_to_back(kRest, chunk);
    cut();
  }
  void hit(ChunkId chunk) override { insert(chunk); }
  void remove(ChunkId chunk) override {
    lists_.remove(chunk);
    cut();
  }
  ChunkId replace(const EvictionQueries& queries) override {
    ChunkId victim = lists_.first_evictable(kRest, queries);
    if (!victim.valid()) victim = lists_.last_evictable(kReserved, queries);
    if (victim.valid()) remove(victim);
    return victim;
  }

  void cut() {
    const std::uint64_t reserved = (lists_.size(kReserved) + lists_.size(kRest)) * percent_ / 100;
    while (lists_.size(kReserved) < reserved) lists_.move_to_back(kReserved, lists_.front(kRest));
    while (lists_.size(kReserved) > reserved) lists_.move_to_front(kRest, lists_.back(kReserved));
  }

  std::uint64_t percent_;
  ChunkLists lists_;
};

}  // namespace

UVMSIM_POLICY(reserved_lru, ReservedLru);

}  // namespace uvmsim::policy
