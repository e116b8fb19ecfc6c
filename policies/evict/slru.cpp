// SPDX-License-Identifier: Apache-2.0
// Segmented LRU: a hit moves a chunk up one segment; a chunk that falls off a segment's end moves down one.
#include "sim/policy/cache_policy.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class SegmentedLru final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {.description = "segmented LRU: a hit takes a chunk up a segment, overflow takes it down, the lowest loses",
            .source = "Karedla, Love, Wherry, IEEE Computer 1994; with n segments as in libCacheSim's slru",
            .information = InformationClass::kD2,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() {
    return {integer("segments", 4, {1, 16}, "segments of one size; what does not divide belongs to the lowest")};
  }

  explicit SegmentedLru(const PolicyContext& context)
      : CachePolicy(context),
        count_(static_cast<std::uint32_t>(context.parameters.integer("segments"))),
        size_(context.chunk_count / count_),
        segments_(context.chunk_count, count_) {}

  void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const override {
    add_cache_state(digest, names);
    segments_.add_state(digest, names);
  }

 private:
  // Inserts into the lowest segment with room; when all are full, into the lowest one.
  void insert(ChunkId chunk) override {
    std::uint32_t segment = 0;
    while (segment < count_ && segments_.size(segment) >= size_) ++segment;
    segments_.move_to_back(segment < count_ ? segment : 0, chunk);
  }
  void hit(ChunkId chunk) override {
    std::uint32_t segment = segments_.list_of(chunk);
    segment += segment + 1 < count_ ? 1 : 0;
    segments_.move_to_back(segment, chunk);
    for (; segment > 0 && segments_.size(segment) > size_; --segment) {
      segments_.move_to_back(segment - 1, segments_.front(segment));
    }
  }
  void remove(ChunkId chunk) override { segments_.remove(chunk); }
  ChunkId replace(const EvictionQueries& queries) override {
    ChunkId victim{};
    for (std::uint32_t segment = 0; segment < count_ && !victim.valid(); ++segment) {
      victim = segments_.take_first_evictable(segment, queries);
    }
    return victim;
  }

  std::uint32_t count_;
  std::uint32_t size_;  // of each segment but the lowest
  ChunkLists segments_;
};

}  // namespace

UVMSIM_POLICY(slru, SegmentedLru);

}  // namespace uvmsim::policy
