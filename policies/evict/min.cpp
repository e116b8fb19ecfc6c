// SPDX-License-Identifier: Apache-2.0
// Belady's MIN evicts the chunk whose next use is furthest away. If uses come one after the other, in the order of the
// trace, no demand-paging policy loads less.
//
// A kernel that fits into memory is treated as one use, as in `min_kernel`; a larger one use by use. Its SMs run in
// parallel, not in that order: there `min` may evict memory that is needed next, and be slower than the driver's
// policy.
#include "policies/evict/furthest_next_use.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class Min final : public FurthestNextUse {
 public:
  static PolicyInfo info() {
    return {.description =
                "Belady's MIN: the chunk whose next use is furthest away; no oracle for kernels larger than memory",
            .source = "Belady, IBM Systems J. 1966; Mattson et al. 1970; reads the trace ahead",
            .information = InformationClass::kD4,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() { return {}; }

  Min(const PolicyContext& context, const Future& future) : FurthestNextUse(context, future, context.chunk_count) {}
};

}  // namespace

UVMSIM_POLICY(min, Min);

}  // namespace uvmsim::policy
