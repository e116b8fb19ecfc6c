// SPDX-License-Identifier: Apache-2.0
// Least frequently used since it came; of equals the least recently used.
#include <utility>

#include "sim/policy/cache_policy.h"
#include "sim/policy/chunk_heap.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class LeastFrequentlyUsed final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {.description = "least frequently used since it came, then least recently",
            .source = "textbook; LFU eviction of gpgpu-sim_UVMSmart (Ganguly et al., IPDPS 2020)",
            .information = InformationClass::kD2,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() {
    return {integer("halve_after", 65536, {0, 1'000'000'000},
                    "misses after which all counts are halved, so that old fame fades; 0: never")};
  }

  explicit LeastFrequentlyUsed(const PolicyContext& context)
      : CachePolicy(context), halve_after_(static_cast<std::uint64_t>(context.parameters.integer("halve_after"))) {}

 private:
  using Use = std::pair<std::uint64_t, std::uint64_t>;  // accesses, time of the last one

  void insert(ChunkId chunk) override {
    if (halve_after_ != 0 && ++misses_ % halve_after_ == 0) halve();
    by_use_.set(chunk, {1, ++time_});
  }
  void hit(ChunkId chunk) override { by_use_.set(chunk, {by_use_.key(chunk).first + 1, ++time_}); }
  void remove(ChunkId chunk) override { by_use_.remove(chunk); }
  ChunkId replace(const EvictionQueries& queries) override {
    const ChunkId chunk = by_use_.first_evictable(queries);
    if (chunk.valid()) by_use_.remove(chunk);
    return chunk;
  }

  void halve() {
    for (ChunkId chunk{0}; chunk.value < by_use_.known_chunks(); ++chunk.value) {
      if (by_use_.contains(chunk)) by_use_.set(chunk, {by_use_.key(chunk).first / 2, by_use_.key(chunk).second});
    }
  }

  std::uint64_t halve_after_;
  ChunkHeap<Use> by_use_;
  std::uint64_t time_ = 0;
  std::uint64_t misses_ = 0;
};

}  // namespace

UVMSIM_POLICY(lfu, LeastFrequentlyUsed);

}  // namespace uvmsim::policy
