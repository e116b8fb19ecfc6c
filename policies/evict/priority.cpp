// SPDX-License-Identifier: Apache-2.0
// Evicts memory of less important processes first.
#include <algorithm>

#include "policies/evict/process_lists.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class Priority final : public ProcessEvictor {
 public:
  static PolicyInfo info() {
    return {.description = "the least recently migrated chunk of the processes with the lowest priority that have any",
            .source = "eviction by process of gpu_ext (github.com/eunomia-bpf/gpu_ext), with NVIDIA's order",
            .for_processes = true};
  }
  static ParameterTable parameters() {
    return ProcessLists::parameters({0, 1000}, "larger: others lose memory first; of process ");
  }

  explicit Priority(const PolicyContext& context)
      : ProcessEvictor("priority", context), priorities_(ProcessLists::values(context)), levels_(priorities_) {
    std::sort(levels_.begin(), levels_.end());
    levels_.erase(std::unique(levels_.begin(), levels_.end()), levels_.end());
  }

 private:
  ChunkId choose(const EvictionQueries& queries) override {
    for (const std::int64_t level : levels_) {
      const ChunkId victim =
          lists_.oldest(queries, [&](std::uint32_t process) { return priorities_[process] == level; });
      if (victim.valid()) return victim;
    }
    return {};
  }

  const std::vector<std::int64_t> priorities_;  // by process
  std::vector<std::int64_t> levels_;            // ascending
};

}  // namespace

UVMSIM_POLICY(priority, Priority);

}  // namespace uvmsim::policy
