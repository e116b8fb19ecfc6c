// SPDX-License-Identifier: Apache-2.0
// MIN that weighs write-backs: a chunk with twice the replacement cost stays until its next use is twice as far.
#include "sim/policy/cache_policy.h"
#include "sim/policy/next_use.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

// Minimal cost with write-backs is NP-complete (Beckmann et al., APOCS 2020); this is a heuristic. UVM moves pages, so
// every page without a copy on another processor has to be written back, modified or not. The policy looks at every
// chunk for each victim.
class MinDirty final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {.description = "MIN that weighs the way to the next use against the pages to bring back and to write back",
            .source = "heuristic after Belady 1966 and Beckmann et al., APOCS 2020; reads the trace ahead",
            .information = InformationClass::kD4,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() {
    return {
        integer("write_back_percent", 100, {0, 10000}, "what writing a page back costs, of what bringing it costs")};
  }

  MinDirty(const PolicyContext& context, const Future& future)
      : CachePolicy(context),
        write_back_percent_(static_cast<std::uint64_t>(context.parameters.integer("write_back_percent"))),
        by_next_use_(future, context.chunk_count) {}

 private:
  struct Candidate {
    ChunkId chunk;
    bool again = true;         // whether it is used again
    std::uint64_t distance{};  // uses until then
    std::uint64_t cost{};      // cost of replacing it
    // Returns whether it is evicted before the other one.
    bool before(const Candidate& other) const {
      if (!other.chunk.valid()) return true;
      if (again != other.again) return !again;
      if (!again) return cost < other.cost;
      return WideUnsigned{distance} * other.cost > WideUnsigned{other.distance} * cost;
    }
  };

  void insert(ChunkId chunk) override { by_next_use_.insert(chunk, content_of(chunk)); }
  void remove(ChunkId chunk) override { by_next_use_.remove(chunk); }
  ChunkId replace(const EvictionQueries& queries) override {
    Candidate victim;
    by_next_use_.for_each([&](ChunkId chunk, Future::Position next) {
      if (!queries.evictable(chunk)) return;
      const ChunkView view = queries.view(chunk);
      const bool again = next != Future::kNever;
      const std::uint64_t write_back = view.unsaved_pages * write_back_percent_;
      const Candidate candidate{chunk, again, next - by_next_use_.present(),
                                (again ? view.resident_pages * std::uint64_t{100} : 0) + write_back};
      if (candidate.before(victim)) victim = candidate;
    });
    if (victim.chunk.valid()) by_next_use_.remove(victim.chunk);
    return victim.chunk;
  }

  std::uint64_t write_back_percent_;
  NextUseOrder by_next_use_;
};

}  // namespace

UVMSIM_POLICY(min_dirty, MinDirty);

}  // namespace uvmsim::policy
