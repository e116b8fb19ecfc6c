// SPDX-License-Identifier: Apache-2.0
#include "policies/plan/oracle_planner.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {

class KernelLookahead final : public OraclePlanner {
 public:
  static PolicyInfo info() {
    return {
        .description = "memory of the next kernels in the order of its use; the block used farthest ahead gives way",
        .source = "MIN (Belady 1966) with limited lookahead over kernels",
        .information = InformationClass::kD4};
  }
  static ParameterTable parameters() {
    return {integer("degree", 8, {0, 1 << 30}, "kernels ahead of the running one"), reserve_parameter()};
  }
  explicit KernelLookahead(const PolicyContext& context, const KernelFuture& future)
      : OraclePlanner(context, future, static_cast<KernelNumber>(context.parameters.integer("degree"))) {}
};

UVMSIM_POLICY(kernel_lookahead, KernelLookahead);

}  // namespace uvmsim::policy
