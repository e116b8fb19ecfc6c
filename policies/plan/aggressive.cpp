// SPDX-License-Identifier: Apache-2.0
#include "policies/plan/oracle_planner.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {

// Fetches as early as possible: whenever the link is idle it fetches the missing block that is used soonest, in place
// of the one that is used last, unless that one is used before it.
class Aggressive final : public OraclePlanner {
 public:
  static PolicyInfo info() {
    return {.description = "fetches as early as it does no harm: soonest used in, farthest used out",
            .source = "Cao, Felten, Karlin, Li, SIGMETRICS 1995, on kernels and 2 MB blocks",
            .information = InformationClass::kD4};
  }
  static ParameterTable parameters() { return {reserve_parameter()}; }
  explicit Aggressive(const PolicyContext& context, const KernelFuture& future)
      : OraclePlanner(context, future, kNever) {}
};

UVMSIM_POLICY(aggressive, Aggressive);

}  // namespace uvmsim::policy
