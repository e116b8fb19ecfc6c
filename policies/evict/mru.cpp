// SPDX-License-Identifier: Apache-2.0
// Most recently used: without bypassing the best policy for reading more than fits over and over.
#include "sim/policy/chunk_list.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class MostRecentlyUsed final : public Evictor {
 public:
  static PolicyInfo info() {
    return {.description = "most recently used: empty chunks, then the chunk whose last access is youngest",
            .source = "textbook",
            .information = InformationClass::kD2,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() {
    return {
        integer("spare", 0, {0, 1'000'000}, "youngest chunks that are passed over: kernels may be at work on them")};
  }

  explicit MostRecentlyUsed(const PolicyContext& context)
      : spare_(context.parameters.integer("spare")), lists_(context.chunk_count, kListCount) {}

  void on_migrated(ChunkId chunk) override { lists_.move_to_back(kUsed, chunk); }
  void on_touched(ChunkId chunk) override { lists_.move_to_back(kUsed, chunk); }
  void on_emptied(ChunkId chunk) override { lists_.move_to_back(kEmpty, chunk); }
  void on_released(ChunkId chunk) override { lists_.remove(chunk); }

  ChunkId select_victim(const EvictionQueries& queries) override {
    const ChunkId empty = lists_.first_evictable(kEmpty, queries);
    if (empty.valid()) return empty;
    std::int64_t passed = 0;
    ChunkId oldest_passed{};
    for (ChunkId chunk = lists_.back(kUsed); chunk.valid(); chunk = lists_.previous(chunk)) {
      if (!queries.evictable(chunk)) continue;
      if (passed++ >= spare_) return chunk;
      oldest_passed = chunk;
    }
    return oldest_passed;
  }

  void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const override {
    lists_.add_state(digest, names);
  }

 private:
  enum List : std::uint32_t { kEmpty, kUsed, kListCount };  // an empty chunk costs nothing to evict
  std::int64_t spare_;
  ChunkLists lists_;
};

}  // namespace

UVMSIM_POLICY(mru, MostRecentlyUsed);

}  // namespace uvmsim::policy
