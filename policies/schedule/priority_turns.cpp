// SPDX-License-Identifier: Apache-2.0
// Lets important processes compute first.
#include <algorithm>

#include "policies/evict/process_lists.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class PriorityTurns final : public Scheduler {
 public:
  static PolicyInfo info() {
    return {.name = "priority",
            .description =
                "a process with a larger number has the GPU whenever it has something to compute; equal "
                "numbers take turns of the system's time slice",
            .source = "Linux's SCHED_RR, on a GPU"};
  }
  static ParameterTable parameters() {
    return ProcessLists::parameters({0, 1000}, "larger: before others; of process ");
  }

  explicit PriorityTurns(const PolicyContext& context) : priorities_(ProcessLists::values(context)) {}

  Turn next(const ScheduleQueries& queries) override {
    const ProcessView* best = nullptr;
    for (const ProcessView& view : queries.processes()) {
      if (view.waits && (best == nullptr || priority(view.process) > priority(best->process))) best = &view;
    }
    return {best->process, queries.time_slice()};
  }
  bool interrupts(std::uint32_t waiting, std::uint32_t computing, const ScheduleQueries&) override {
    return priority(waiting) > priority(computing);
  }
  void forecast(const ScheduleQueries& queries, std::vector<std::uint32_t>& processes) override {
    for (const ProcessView& view : queries.processes()) processes.push_back(view.process);
    std::stable_sort(processes.begin(), processes.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return priority(a) > priority(b); });
  }

 private:
  std::int64_t priority(std::uint32_t process) const { return process < priorities_.size() ? priorities_[process] : 0; }

  const std::vector<std::int64_t> priorities_;  // by process
};

}  // namespace

UVMSIM_POLICY(priority_turns, PriorityTurns);

}  // namespace uvmsim::policy
