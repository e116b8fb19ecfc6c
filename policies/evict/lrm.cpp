// SPDX-License-Identifier: Apache-2.0
// The driver's eviction order: least recently migrated. Hits on the GPU are invisible to it.
// Source: NVIDIA UVM 580, uvm_pmm_gpu.c (root chunk lists and the choice of the chunk to evict).
#include "sim/policy/chunk_list.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class LeastRecentlyMigrated final : public Evictor {
 public:
  static PolicyInfo info() {
    return {.description = "NVIDIA's order: unused chunks, discarded ones, then the least recently migrated to",
            .source = "NVIDIA UVM 580, uvm_pmm_gpu.c"};
  }
  static ParameterTable parameters() { return {}; }

  explicit LeastRecentlyMigrated(const PolicyContext& context) : lists_(context.chunk_count, kListCount) {}

  void on_migrated(ChunkId chunk) override { lists_.move_to_back(kUsed, chunk); }
  void on_emptied(ChunkId chunk) override { lists_.move_to_back(kUnused, chunk); }
  void on_discarded(ChunkId chunk) override { lists_.move_to_back(kDiscarded, chunk); }
  void on_released(ChunkId chunk) override { lists_.remove(chunk); }

  ChunkId select_victim(const EvictionQueries& queries) override {
    for (std::uint32_t list = 0; list < kListCount; ++list) {
      const ChunkId victim = lists_.first_evictable(list, queries);
      if (victim.valid()) return victim;
    }
    return {};
  }

  void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const override {
    lists_.add_state(digest, names);
  }

 private:
  enum List : std::uint32_t { kUnused, kDiscarded, kUsed, kListCount };  // in the order of eviction
  ChunkLists lists_;
};

}  // namespace

UVMSIM_POLICY(lrm, LeastRecentlyMigrated);

}  // namespace uvmsim::policy
