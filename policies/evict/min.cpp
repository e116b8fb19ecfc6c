// SPDX-License-Identifier: Apache-2.0
// Belady's MIN: the chunk whose next use is furthest away gives way. Where uses come one after the other, in the order
// of the trace, no demand-paging policy loads less.
//
// A kernel that fits into memory is taken as a whole, as in `min_kernel`; one that does not, use by use. Its SMs work
// at the same time, in no such order: there `min` may evict what is needed next, and be slower than the driver's
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
