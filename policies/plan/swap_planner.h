// SPDX-License-Identifier: Apache-2.0
// The common part of planners that swap by a plan: the program's idle times, and the runner that carries out the swaps.
#pragma once

#include "policies/plan/swap_runner.h"

namespace uvmsim::policy {

class SwapPlanner : public Planner {
 public:
  void on_begin(const KernelLaunch& kernel) override { runner_.on_begin(kernel.number); }
  void on_end(std::uint64_t number) override { runner_.on_end(number); }
  PlanCommand next(const PlanQueries& queries) final { return runner_.next(queries); }

 protected:
  explicit SwapPlanner(const KernelFuture& future) : program_(swap_program(future)), runner_(program_) {}

  SwapProgram program_;
  SwapRunner runner_;
};

}  // namespace uvmsim::policy
