// MIN over kernels: what is used by the kernel furthest away gives way, what the present one uses comes last.
#include "sim/policy/cache_policy.h"
#include "sim/policy/next_use.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class MinOverKernels final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {.description = "MIN that takes the uses of one kernel for simultaneous",
            .source = "MIN over page sets, after Belady 1966; reads the trace ahead",
            .information = InformationClass::kD4,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() { return {}; }

  MinOverKernels(const PolicyContext& context, const Future& future)
      : CachePolicy(context), by_next_use_(context.chunk_count, future, ~std::uint64_t{0}) {}

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

UVMSIM_POLICY(min_kernel, MinOverKernels);

}  // namespace uvmsim::policy
