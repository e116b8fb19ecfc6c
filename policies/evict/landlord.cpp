// SPDX-License-Identifier: Apache-2.0
// Write-back-aware Landlord: chunks pay rent from a credit of what replacing them costs; who has none left goes.
#include <algorithm>
#include <vector>

#include "sim/policy/cache_policy.h"
#include "sim/policy/chunk_list.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

// The rent of all is raised so far that one chunk's credit is used up; an access restores its credit. Instead of
// lowering every credit, `rent_` counts what all have paid: a chunk with the cost c that was accessed when it stood at
// r has c + r - rent_ left. What a chunk costs is known when a victim is sought; looks at every chunk then.
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
        rent_at_access_(context.chunk_count, 0),
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
    // The least recently accessed among equals.
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
  std::vector<std::uint64_t> rent_at_access_;
  ChunkLists by_access_;
};

}  // namespace

UVMSIM_POLICY(landlord, Landlord);

}  // namespace uvmsim::policy
