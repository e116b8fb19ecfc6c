// SPDX-License-Identifier: Apache-2.0
// A planner that fetches the block used soonest in place of the one used last: within some kernels of the running one
// (kernel_lookahead), or over the whole program (aggressive).
#pragma once

#include "policies/plan/oracle.h"

namespace uvmsim::policy {

class OraclePlanner : public Planner {
 public:
  static Parameter reserve_parameter() {
    return integer("reserve_chunks", 16, {0, 65536}, "2 MB chunks to empty ahead, so that copies both ways overlap");
  }
  OraclePlanner(const PolicyContext& context, const KernelFuture& future, KernelNumber degree)
      : degree_(degree),
        reserve_(static_cast<std::uint32_t>(context.parameters.integer("reserve_chunks"))),
        oracle_(future) {}

  void on_launched(const KernelLaunch& kernel) override { oracle_.on_launched(kernel.number); }
  void on_begin(const KernelLaunch& kernel) override { oracle_.on_begin(kernel.number); }
  void on_end(std::uint64_t number) override { oracle_.on_end(number); }
  void on_migrated(BlockIndex block) override { oracle_.on_migrated(block); }
  void on_released(BlockIndex block) override { oracle_.on_released(block); }

  PlanCommand next(const PlanQueries& queries) override {
    const KernelNumber position = oracle_.position();
    const KernelNumber last = degree_ < kNever - position ? position + degree_ : kNever;
    const auto missing = oracle_.soonest_missing(queries, last);
    if (!missing) return {};
    if (queries.free_chunks() <= reserve_) {
      const PlanCommand victim = oracle_.farthest(queries, missing->kernel);
      if (victim.kind != PlanCommand::Kind::kNone) return victim;
    }
    if (queries.free_chunks() == 0) return {};  // do no harm
    oracle_.skip();
    return {PlanCommand::Kind::kPrefetch, missing->block, missing->pages};
  }
  PlanCommand victim(const PlanQueries& queries) override { return oracle_.farthest(queries, oracle_.position()); }

 private:
  KernelNumber degree_;
  std::uint32_t reserve_;
  Oracle oracle_;
};

}  // namespace uvmsim::policy
