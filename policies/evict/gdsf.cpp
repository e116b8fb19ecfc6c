// SPDX-License-Identifier: Apache-2.0
// Greedy-dual-size-frequency for chunks of equal size and cost: least frequently used with ageing.
#include <utility>

#include "sim/policy/cache_policy.h"
#include "sim/policy/chunk_heap.h"
#include "sim/policy/per_chunk.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

// A chunk's worth is `floor` + accesses * cost / size at its last access, where `floor` is the worth of the last
// victim. Chunks of one GPU have one size, and the cost of a chunk is its transfer over the same link: cost / size is
// 1.
class GreedyDualSizeFrequency final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {.description = "greedy-dual-size-frequency; chunks have one size and cost, so: LFU with ageing",
            .source = "Cherkasova, HP Labs 1998; as libCacheSim's gdsf with objects of one size",
            .information = InformationClass::kD2,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() { return {}; }

  explicit GreedyDualSizeFrequency(const PolicyContext& context) : CachePolicy(context) {}

 private:
  using Worth = std::pair<std::uint64_t, std::uint64_t>;  // worth, time of the last access

  void insert(ChunkId chunk) override {
    accesses_[chunk.value] = 0;
    hit(chunk);
  }
  void hit(ChunkId chunk) override { by_worth_.set(chunk, {floor_ + ++accesses_[chunk.value], ++time_}); }
  void remove(ChunkId chunk) override { by_worth_.remove(chunk); }
  ChunkId replace(const EvictionQueries& queries) override {
    const ChunkId chunk = by_worth_.first_evictable(queries);
    if (chunk.valid()) {
      floor_ = by_worth_.key(chunk).first;
      by_worth_.remove(chunk);
    }
    return chunk;
  }

  PerChunk<std::uint64_t> accesses_;
  ChunkHeap<Worth> by_worth_;
  std::uint64_t floor_ = 0;
  std::uint64_t time_ = 0;
};

}  // namespace

UVMSIM_POLICY(gdsf, GreedyDualSizeFrequency);

}  // namespace uvmsim::policy
