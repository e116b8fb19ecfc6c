// SPDX-License-Identifier: Apache-2.0
// What planners that swap by a plan share: the program's idle times, and who carries the swaps out.
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
