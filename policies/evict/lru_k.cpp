// SPDX-License-Identifier: Apache-2.0
// LRU-K evicts the chunk whose K-th last access is oldest, so that one scan does not make a chunk look used.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "sim/policy/cache_policy.h"
#include "sim/policy/chunk_heap.h"
#include "sim/policy/ghost_list.h"
#include "sim/policy/per_chunk.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class LruK final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {.description = "LRU-K: oldest K-th last access; chunks with fewer accesses go first, least recent first",
            .source = "O'Neil, O'Neil, Weikum, SIGMOD 1993; without a correlated reference period",
            .information = InformationClass::kD2,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() {
    return {integer("k", 2, {1, kMost}, "accesses that are looked back"),
            integer("history", 100, {0, 1000}, "evicted contents whose accesses are kept, in percent of the chunks")};
  }

  explicit LruK(const PolicyContext& context)
      : CachePolicy(context),
        k_(static_cast<unsigned>(context.parameters.integer("k"))),
        history_(std::size_t{context.chunk_count} * static_cast<std::size_t>(context.parameters.integer("history")) /
                 100) {}

  void on_freed(ContentIndex content) override { history_.take(content); }

 private:
  static constexpr unsigned kMost = 4;
  using Times = std::array<std::uint64_t, kMost>;        // times of the last accesses, the last one first; 0: never
  using Rank = std::pair<std::uint64_t, std::uint64_t>;  // K-th last access, last access

  void miss(ContentIndex content) override { past_ = history_.take(content).value_or(Times{}); }
  void insert(ChunkId chunk) override {
    times_[chunk.value] = past_;
    hit(chunk);
  }
  void hit(ChunkId chunk) override {
    Times& times = times_[chunk.value];
    std::rotate(times.begin(), times.end() - 1, times.end());
    times[0] = ++time_;
    order_.set(chunk, Rank{times[k_ - 1], times[0]});
  }
  void remove(ChunkId chunk) override { order_.remove(chunk); }
  ChunkId replace(const EvictionQueries& queries) override {
    const ChunkId chunk = order_.first_evictable(queries);
    if (chunk.valid()) {
      order_.remove(chunk);
      history_.push(content_of(chunk), times_[chunk.value]);
    }
    return chunk;
  }

  unsigned k_;
  PerChunk<Times> times_;
  ChunkHeap<Rank> order_;
  GhostList<Times> history_;
  Times past_{};  // times of the last missing content
  std::uint64_t time_ = 0;
};

}  // namespace

UVMSIM_POLICY(lru_k, LruK);

}  // namespace uvmsim::policy
