// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "policies/plan/kernel_blocks.h"
#include "policies/plan/lookahead.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {

// Predicts perfectly as far as the host has launched: the host runs ahead of the GPU, so that the next kernels and
// their memory are known, except where the host waits.
class DeepUmIdeal final : public Planner {
 public:
  static PolicyInfo info() {
    return {.description = "DeepUM with perfect prediction: all memory of the next kernels, as they were launched",
            .source = "DeepUM+ in the artifact of G10, Zhang et al., MICRO 2023",
            .information = InformationClass::kD3};
  }
  static ParameterTable parameters() {
    return {integer("degree", 8, {0, 4096}, "kernels ahead of the running one"),
            boolean("prefetch", true, "false: only choose what gives way"),
            integer("reserve_chunks", 16, {0, 65536}, "2 MB chunks to keep free by evicting early"),
            boolean("invalidate", true, "blocks in which the framework holds nothing go without a copy")};
  }
  explicit DeepUmIdeal(const PolicyContext& context)
      : degree_(static_cast<std::size_t>(context.parameters.integer("degree"))),
        ahead_({context.parameters.boolean("prefetch"), context.parameters.boolean("invalidate"),
                static_cast<std::uint32_t>(context.parameters.integer("reserve_chunks"))}) {}

  void on_launched(const KernelLaunch& kernel) override { launched_.emplace_back(kernel); }
  // Kernels of several streams begin and end in any order: each is expected until it has ended and another begins.
  void on_begin(const KernelLaunch& kernel) override {
    for (const std::uint64_t number : over_) remove(number);
    over_.clear();
    while (next_ <= kernel.number) expect_next();
  }
  void on_end(std::uint64_t number) override { over_.push_back(number); }
  void on_migrated(BlockIndex block) override { ahead_.on_migrated(block); }
  void on_released(BlockIndex block) override { ahead_.on_released(block); }

  PlanCommand next(const PlanQueries& queries) override {
    return ahead_.next(queries, [this] { return ahead_.size() != 0 && expect_one_more(); });
  }
  PlanCommand victim(const PlanQueries& queries) override { return ahead_.victim(queries); }

 private:
  bool expect_one_more() {
    if (launched_.empty() || ahead_.size() > degree_) return false;
    expect_next();
    return true;
  }
  void expect_next() {
    ahead_.push(std::move(launched_.front()));
    launched_.pop_front();
    expected_.push_back(next_++);
  }
  void remove(std::uint64_t number) {
    const auto found = std::lower_bound(expected_.begin(), expected_.end(), number);
    ahead_.remove(static_cast<std::size_t>(found - expected_.begin()));
    expected_.erase(found);
  }

  std::size_t degree_;
  Lookahead<ArgumentBlocks> ahead_;
  std::deque<std::uint64_t> expected_;   // numbers of the kernels of ahead_, ascending
  std::vector<std::uint64_t> over_;      // those that have ended
  std::uint64_t next_ = 0;               // number of the first kernel of launched_
  std::deque<ArgumentBlocks> launched_;  // beyond those in ahead_
};

UVMSIM_POLICY(deepum_ideal, DeepUmIdeal);

}  // namespace uvmsim::policy
