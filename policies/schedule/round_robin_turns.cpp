// SPDX-License-Identifier: Apache-2.0
// The GPU's own behaviour: equal time slices in turn.
#include <algorithm>

#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class RoundRobinTurns final : public Scheduler {
 public:
  static PolicyInfo info() {
    return {.name = "round_robin",
            .description = "one process after the other, each for the system's time slice (the driver's)",
            .source = "measured: tracer/ground_truth/two_processes.cu"};
  }
  static ParameterTable parameters() { return {}; }

  explicit RoundRobinTurns(const PolicyContext&) {}

  Turn next(const ScheduleQueries& queries) override {
    const auto all = queries.processes();
    const auto waiting = std::find_if(all.begin(), all.end(), [](const ProcessView& view) { return view.waits; });
    return {waiting->process, queries.time_slice()};
  }
};

}  // namespace

UVMSIM_POLICY(round_robin_turns, RoundRobinTurns);

}  // namespace uvmsim::policy
