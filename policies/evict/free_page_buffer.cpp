// SPDX-License-Identifier: Apache-2.0
// Evicts in the driver's order, but ahead of need: some chunks are always kept free, so that no fault waits.
#include "sim/policy/chunk_list.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class FreePageBuffer final : public Evictor {
 public:
  static PolicyInfo info() {
    return {.description = "least recently migrated, evicted ahead of need so that a buffer of chunks stays free",
            .source = "free-page buffer of Ganguly et al., ISCA 2019 (there with LRU); order of NVIDIA UVM 580",
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() {
    return {integer("buffer", 5, {0, 50}, "chunks kept free, in percent of all; at least one chunk is kept in use")};
  }

  explicit FreePageBuffer(const PolicyContext& context)
      : buffer_(context.chunk_count * static_cast<std::uint64_t>(context.parameters.integer("buffer")) / 100),
        lists_(context.chunk_count, kListCount) {}

  void on_migrated(ChunkId chunk) override { lists_.move_to_back(kUsed, chunk); }
  void on_emptied(ChunkId chunk) override { lists_.move_to_back(kUnused, chunk); }
  void on_discarded(ChunkId chunk) override { lists_.move_to_back(kDiscarded, chunk); }
  void on_released(ChunkId chunk) override { lists_.remove(chunk); }

  ChunkId select_victim(const EvictionQueries& queries) override {
    ChunkId victim{};
    for (std::uint32_t list = 0; list < kListCount && !victim.valid(); ++list) {
      victim = lists_.first_evictable(list, queries);
    }
    return victim;
  }
  ChunkId select_early_victim(const EvictionQueries& queries) override {
    return queries.free_chunks() < buffer_ ? select_victim(queries) : ChunkId{};
  }

  void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const override {
    lists_.add_state(digest, names);
  }

 private:
  enum List : std::uint32_t { kUnused, kDiscarded, kUsed, kListCount };  // in the order of eviction
  std::uint64_t buffer_;
  ChunkLists lists_;
};

}  // namespace

UVMSIM_POLICY(free_page_buffer, FreePageBuffer);

}  // namespace uvmsim::policy
