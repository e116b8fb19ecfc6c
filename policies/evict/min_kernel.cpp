// SPDX-License-Identifier: Apache-2.0
// MIN over kernels evicts the memory of the kernel furthest away first, and that of the present kernel last.
#include "policies/evict/furthest_next_use.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class MinOverKernels final : public FurthestNextUse {
 public:
  static PolicyInfo info() {
    return {.description = "MIN that takes the uses of one kernel for simultaneous",
            .source = "MIN over page sets, after Belady 1966; reads the trace ahead",
            .information = InformationClass::kD4,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() { return {}; }

  MinOverKernels(const PolicyContext& context, const Future& future)
      : FurthestNextUse(context, future, ~std::uint64_t{0}) {}
};

}  // namespace

UVMSIM_POLICY(min_kernel, MinOverKernels);

}  // namespace uvmsim::policy
