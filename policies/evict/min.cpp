// Belady's MIN: the chunk whose next use is furthest away gives way. No demand-paging policy loads less.
//
// A kernel that fits into memory is taken as a whole, as in `min_kernel`; one that does not, use by use.
#include "sim/policy/cache_policy.h"
#include "sim/policy/next_use.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class Min final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {.description = "Belady's MIN: the chunk whose next use is furthest away",
            .source = "Belady, IBM Systems J. 1966; Mattson et al. 1970; reads the trace ahead",
            .information = InformationClass::kD4,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() { return {}; }

  Min(const PolicyContext& context, const Future& future)
      : CachePolicy(context), by_next_use_(context.chunk_count, future, context.chunk_count) {}

 private:
  void insert(ChunkId chunk) override { by_next_use_.insert(chunk, content_of(chunk)); }
  void remove(ChunkId chunk) override { by_next_use_.remove(chunk); }
  ChunkId replace(const EvictionQueries& queries) override {
    const ChunkId victim = by_next_use_.furthest(queries);
    if (victim.valid()) by_next_use_.remove(victim);
    return victim;
  }

  NextUseOrder by_next_use_;
};

}  // namespace

UVMSIM_POLICY(min, Min);

}  // namespace uvmsim::policy
