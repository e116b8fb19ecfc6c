// SPDX-License-Identifier: Apache-2.0
#include "policies/plan/g10_schedule.h"
#include "policies/plan/swap_planner.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {

// Plans everything before the program runs; memory that the plan misses comes by page faults.
class G10 final : public SwapPlanner {
 public:
  static PolicyInfo info() {
    return {.description = "tensors leave in the idle times that relieve memory most, as far as the link carries them",
            .source = "G10, Zhang et al., MICRO 2023, and its artifact; without the SSD",
            .information = InformationClass::kD4};
  }
  static ParameterTable parameters() {
    return {real("target", 0.99, {0, 1}, "share of GPU memory that the plan fills"),
            real("slack", 0.5, {0, 100}, "an idle time must be this many transfers longer than the two of its own")};
  }
  G10(const PolicyContext& context, const KernelFuture& future) : SwapPlanner(future) {
    const double capacity = static_cast<double>(future.chunks) * static_cast<double>(kBlockBytes);
    const G10Machine machine{static_cast<std::uint64_t>(capacity * context.parameters.real("target")),
                             future.dtoh_bytes_per_us, future.htod_bytes_per_us, future.link_latency,
                             context.parameters.real("slack")};
    for (const Swap& swap : G10Planner(program_, machine).plan().swaps) {
      runner_.leave(swap.idle.region, swap.idle.from, swap.idle.to);
      runner_.come(swap.idle.region, swap.in_begin, swap.idle.to);
    }
  }
};

UVMSIM_POLICY(g10, G10);

}  // namespace uvmsim::policy
