// SPDX-License-Identifier: Apache-2.0
// Write-back-aware Landlord: chunks pay rent from a credit equal to their replacement cost; a chunk without credit left
// is evicted.
#include <algorithm>
#include <vector>

#include "sim/policy/cache_policy.h"
#include "sim/policy/chunk_list.h"
#include "sim/policy/per_chunk.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

// Rent rises for all chunks until one chunk's credit is used up; an access restores a chunk's credit. Instead of
// lowering every credit, `rent_` holds the total rent: a chunk with cost c that was accessed when the total was r has c
// + r - rent_ left. A chunk's cost is known only when a victim is sought, so every chunk is looked at then.
class Landlord final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {.description = "least credit left, where an access restores the cost of bringing and writing it back",
            .source = "Landlord, N. Young, SODA 1998; with write-backs after Beckmann et al., APOCS 2020",
            .information = InformationClass::kD2,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() {
    return {
        integer("write_back_percent", 100, {0, 10000}, "what writing a page back costs, of what bringing it costs")};
  }

  explicit Landlord(const PolicyContext& context)
      : CachePolicy(context),
        write_back_percent_(static_cast<std::uint64_t>(context.parameters.integer("write_back_percent"))),
        by_access_(context.chunk_count) {}

 private:
  void insert(ChunkId chunk) override { hit(chunk); }
  void hit(ChunkId chunk) override {
    rent_at_access_[chunk.value] = rent_;
    by_access_.move_to_back(0, chunk);
  }
  void remove(ChunkId chunk) override { by_access_.remove(chunk); }
  ChunkId replace(const EvictionQueries& queries) override {
    ChunkId victim;
    std::uint64_t least = 0;
    // Of equals the least recently accessed chunk is chosen.
    for (ChunkId chunk = by_access_.front(0); chunk.valid(); chunk = by_access_.next(chunk)) {
      if (!queries.evictable(chunk)) continue;
      const ChunkView view = queries.view(chunk);
      const std::uint64_t cost = view.resident_pages * std::uint64_t{100} + view.unsaved_pages * write_back_percent_;
      const std::uint64_t due = rent_at_access_[chunk.value] + cost;
      if (victim.valid() && due >= least) continue;
      victim = chunk;
      least = due;
    }
    if (victim.valid()) {
      rent_ = std::max(rent_, least);
      by_access_.remove(victim);
    }
    return victim;
  }

  std::uint64_t write_back_percent_;
  std::uint64_t rent_ = 0;
  PerChunk<std::uint64_t> rent_at_access_;
  ChunkLists by_access_;
};

}  // namespace

UVMSIM_POLICY(landlord, Landlord);

}  // namespace uvmsim::policy
