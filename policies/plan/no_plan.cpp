// SPDX-License-Identifier: Apache-2.0
#include "sim/policy/registry.h"

namespace uvmsim::policy {

// Registered but never created: a run without a plan has no migration thread.
class NoPlan final : public Planner {
 public:
  static PolicyInfo info() {
    return {.name = "none",
            .description = "nobody plans ahead: the driver serves faults and nothing else",
            .source = "NVIDIA UVM kernel module"};
  }
  static ParameterTable parameters() { return {}; }
  explicit NoPlan(const PolicyContext&) {}

  PlanCommand next(const PlanQueries&) override { return {}; }
};

UVMSIM_POLICY(no_plan, NoPlan);

}  // namespace uvmsim::policy
