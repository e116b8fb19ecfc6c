// SPDX-License-Identifier: Apache-2.0
// First in, first out, by the time the chunk was taken. A chunk that is faulted on again keeps its place.
#include "sim/policy/cache_policy.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class Fifo final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {.description = "first in, first out: the chunk that came to the GPU longest ago",
            .source = "textbook; Belady, IBM Systems Journal 1966",
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() { return {}; }

  explicit Fifo(const PolicyContext& context) : CachePolicy(context), queue_(context.chunk_count) {}

  void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const override {
    add_cache_state(digest, names);
    queue_.add_state(digest, names);
  }

 private:
  void insert(ChunkId chunk) override { queue_.move_to_back(0, chunk); }
  void remove(ChunkId chunk) override { queue_.remove(chunk); }
  ChunkId replace(const EvictionQueries& queries) override { return queue_.take_first_evictable(0, queries); }

  ChunkLists queue_;
};

}  // namespace

UVMSIM_POLICY(fifo, Fifo);

}  // namespace uvmsim::policy
