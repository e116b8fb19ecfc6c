// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "policies/plan/swap_planner.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {

// Swaps everything that is idle for long enough, even if memory is not short. Not simulated: which operations wait for
// which copies (its synchronisation modes), and its tuning. In this project weights are swapped like activations.
class LmsLike final : public SwapPlanner {
 public:
  static PolicyInfo info() {
    return {.description = "what no kernel uses for a while leaves, and comes back so many kernels before its use",
            .source = "after TensorFlow Large Model Support and vDNN, by descriptions",
            .information = InformationClass::kD4};
  }
  static ParameterTable parameters() {
    return {integer("swapout_threshold", 1, {0, 1 << 30}, "kernels between two uses, above which memory is swapped"),
            integer("swapin_ahead", 0, {0, 1 << 30}, "kernels before the next use at which it comes back"),
            integer("swapin_groupby", 0, {0, 1 << 30}, "uses no more kernels apart than this share one swap")};
  }
  LmsLike(const PolicyContext& context, const KernelFuture& future) : SwapPlanner(future) {
    const auto least = static_cast<std::uint64_t>(
        std::max(context.parameters.integer("swapout_threshold"), context.parameters.integer("swapin_groupby")));
    const auto ahead = static_cast<KernelNumber>(context.parameters.integer("swapin_ahead"));
    for (const Idle& idle : program_.idle) {
      if (!idle.live || idle.kernels() <= least) continue;
      runner_.leave(idle.region, idle.from, idle.to);
      runner_.come(idle.region, std::max(idle.from + 1, idle.to - std::min(idle.to, ahead)), idle.to);
    }
  }
};

UVMSIM_POLICY(lms_like, LmsLike);

}  // namespace uvmsim::policy
