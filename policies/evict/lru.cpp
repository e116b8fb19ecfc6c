// SPDX-License-Identifier: Apache-2.0
// Least recently used by access, which today's driver cannot see; the usual baseline of papers.
#include "sim/policy/chunk_list.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class LeastRecentlyUsed final : public Evictor {
 public:
  static PolicyInfo info() {
    return {.description = "least recently used: empty chunks, then the chunk whose last access is oldest",
            .source = "LRU of Ganguly et al., ISCA 2019",
            .information = InformationClass::kD2,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() { return {}; }

  explicit LeastRecentlyUsed(const PolicyContext& context) : lists_(context.chunk_count, kListCount) {}

  void on_migrated(ChunkId chunk) override { lists_.move_to_back(kUsed, chunk); }
  void on_touched(ChunkId chunk) override { lists_.move_to_back(kUsed, chunk); }
  void on_emptied(ChunkId chunk) override { lists_.move_to_back(kEmpty, chunk); }
  void on_released(ChunkId chunk) override { lists_.remove(chunk); }

  ChunkId select_victim(const EvictionQueries& queries) override {
    const ChunkId empty = lists_.first_evictable(kEmpty, queries);
    return empty.valid() ? empty : lists_.first_evictable(kUsed, queries);
  }

  void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const override {
    lists_.add_state(digest, names);
  }

 private:
  enum List : std::uint32_t { kEmpty, kUsed, kListCount };  // an empty chunk costs nothing to evict
  ChunkLists lists_;
};

}  // namespace

UVMSIM_POLICY(lru, LeastRecentlyUsed);

}  // namespace uvmsim::policy
