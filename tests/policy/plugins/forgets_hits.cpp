// SPDX-License-Identifier: Apache-2.0
// A second-chance evictor whose add_state adds the order of its chunks but not which of them were used. Whole programs
// do not reveal the error, because memory that recurs there was used in the same way.
#include <vector>

#include "sim/policy/cache_policy.h"
#include "sim/policy/registry.h"

namespace {

using namespace uvmsim;
using namespace uvmsim::policy;

class ForgetsHits final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {.description = "leaves the use bits out of its state",
            .source = "this test",
            .information = InformationClass::kD2};
  }
  static ParameterTable parameters() { return {}; }
  explicit ForgetsHits(const PolicyContext& context)
      : CachePolicy(context), ring_(context.chunk_count), used_(context.chunk_count) {}
  void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const override {
    add_cache_state(digest, names);
    ring_.add_state(digest, names);
  }

 private:
  void insert(ChunkId chunk) override {
    used_[chunk.value] = false;
    ring_.move_to_back(0, chunk);
  }
  void hit(ChunkId chunk) override { used_[chunk.value] = true; }
  void remove(ChunkId chunk) override { ring_.remove(chunk); }
  ChunkId replace(const EvictionQueries& queries) override {
    ChunkId chunk = ring_.first_evictable(0, queries);
    while (chunk.valid() && used_[chunk.value]) {
      used_[chunk.value] = false;
      ring_.move_to_back(0, chunk);
      chunk = ring_.first_evictable(0, queries);
    }
    return ring_.take_first_evictable(0, queries);
  }

  ChunkLists ring_;
  std::vector<bool> used_;
};

}  // namespace

UVMSIM_POLICY(nonsense, ForgetsHits);
