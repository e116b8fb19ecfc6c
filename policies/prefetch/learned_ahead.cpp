// SPDX-License-Identifier: Apache-2.0
// A small trained model decides, at each fault, whether to fetch the rest of its block and how many of the next blocks.
#include <algorithm>
#include <vector>

#include "policies/ahead_model.h"
#include "sim/policy/density_tree.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class LearnedAhead final : public Prefetcher, public FeatureListener {
 public:
  static PolicyInfo info() {
    return {.description = "a trained model over kernel and delta: the rest of the block, and up to 8 blocks ahead",
            .source = "deltas and kernels as features: Long et al., JPDC 2023 (a transformer there); the model is ours",
            .information = InformationClass::kD3,
            .decision_cost = Nanoseconds(200)};
  }
  static ParameterTable parameters() { return AheadModel::parameters(); }

  explicit LearnedAhead(const PolicyContext& context) : model_(context.parameters) {}

  void on_kernel(const KernelStart& kernel) override { model_.begin_kernel(kernel.name, kernel.thread_blocks); }

  // Acts as the driver for CPU faults, and where the model does not want the whole block.
  PageMask prefetch(const FaultedBlock& block) override {
    constexpr unsigned kThreshold = 51;
    if (!block.to_host) {
      model_.look_at(block.block.value, block.faulted.count());
      if (model_.whole_block()) {
        return PageMask::range(block.first_page, block.end_page - block.first_page) - block.faulted - block.thrashing;
      }
    }
    return dense_surroundings(block, kThreshold, false) - block.faulted - block.thrashing;
  }

  void prefetch_beyond(const FaultedBlock& block, const PrefetchQueries&, std::vector<PageSpan>& spans) override {
    if (block.to_host) return;  // the model was not asked
    const std::uint64_t first = (block.block.value + 1) * kPagesPerBlock;
    const std::uint64_t end = std::min(first + model_.blocks_ahead() * kPagesPerBlock, block.allocation.end.value);
    if (first < end) spans.push_back({PageIndex(first), PageIndex(end)});
  }

  void add_state(StateDigest& digest) const override { model_.add_state(digest); }

 private:
  AheadModel model_;
};

}  // namespace

UVMSIM_POLICY(learned_ahead, LearnedAhead);

}  // namespace uvmsim::policy
