// SPDX-License-Identifier: Apache-2.0
// Guarantees each process a share of the memory that no other process evicts.
#include <algorithm>
#include <numeric>

#include "policies/evict/process_lists.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class Quota final : public ProcessEvictor {
 public:
  static PolicyInfo info() {
    return {.description = "processes keep their quota: the least recently migrated chunk of those that have more",
            .source = "eviction by process of gpu_ext (github.com/eunomia-bpf/gpu_ext), with NVIDIA's order",
            .for_processes = true};
  }
  static ParameterTable parameters() {
    return ProcessLists::parameters(
        {0, 100},
        "percent of the memory that others do not take (of the sum, where all are more than 100) from process ");
  }

  explicit Quota(const PolicyContext& context)
      : ProcessEvictor("quota", context),
        quotas_(ProcessLists::values(context)),
        whole_(std::max<std::int64_t>(100, std::accumulate(quotas_.begin(), quotas_.end(), std::int64_t{0}))),
        chunk_count_(context.chunk_count) {}

 private:
  // If all processes are within their quotas, the process that needs memory evicts its own.
  ChunkId choose(const EvictionQueries& queries) override {
    const ChunkId victim = lists_.oldest(queries, [&](std::uint32_t process) {
      return lists_.chunks_of(process) * whole_ > quotas_[process] * chunk_count_;
    });
    if (victim.valid()) return victim;
    const std::uint32_t needy = queries.process();
    const ChunkId own = lists_.oldest(queries, [&](std::uint32_t process) { return process == needy; });
    return own.valid() ? own : lists_.oldest(queries, [](std::uint32_t) { return true; });
  }

  const std::vector<std::int64_t> quotas_;  // by process
  const std::int64_t whole_;                // the sum that the quotas are shares of
  const std::int64_t chunk_count_;
};

}  // namespace

UVMSIM_POLICY(quota, Quota);

}  // namespace uvmsim::policy
