// SPDX-License-Identifier: Apache-2.0
// Evicts memory of the process whose next turn is furthest away.
#include <algorithm>

#include "policies/evict/process_lists.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class WorkingSet final : public ProcessEvictor {
 public:
  static PolicyInfo info() {
    return {.description =
                "the process that computes and those whose turns come soon keep their memory: the least "
                "recently migrated chunk of the process whose turn comes last",
            .source =
                "after MSched (arXiv 2512.24637), which evicts in the order of the scheduler's time line; the "
                "driver's order within a process",
            .for_processes = true};
  }
  static ParameterTable parameters() { return {}; }

  explicit WorkingSet(const PolicyContext& context) : ProcessEvictor("working_set", context) {}

  void on_turn(std::span<const std::uint32_t> processes) override { turns_.assign(processes.begin(), processes.end()); }

 private:
  bool has_turn(std::uint32_t process) const {
    return std::find(turns_.begin(), turns_.end(), process) != turns_.end();
  }
  // Without turns this is the driver's own order over all chunks.
  ChunkId choose(const EvictionQueries& queries) override {
    ChunkId victim = lists_.oldest(queries, [&](std::uint32_t process) { return !has_turn(process); });
    for (auto last = turns_.rbegin(); last != turns_.rend() && !victim.valid(); ++last) {
      victim = lists_.oldest(queries, [&](std::uint32_t process) { return process == *last; });
    }
    return victim;
  }

  std::vector<std::uint32_t> turns_;  // the computing process, then the others in the order of their turns
};

}  // namespace

UVMSIM_POLICY(working_set, WorkingSet);

}  // namespace uvmsim::policy
