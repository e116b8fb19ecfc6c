// SPDX-License-Identifier: Apache-2.0
// Sequential-local eviction: evicts 64 KB at a time from the least recently used 2 MB.
#include "sim/policy/cache_policy.h"
#include "sim/policy/chunk_groups.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class SequentialLocal final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {.description = "SLe: the least recently used 64 KB of the least recently used 2 MB",
            .source = "sequential-local pre-eviction of Ganguly et al., ISCA 2019, as gpgpu-sim_UVMSmart sorts pages",
            .information = InformationClass::kD2,
            .granularity = Granularity::kBigPage};
  }
  static ParameterTable parameters() { return {}; }

  explicit SequentialLocal(const PolicyContext& context)
      : CachePolicy(context), blocks_(context.chunk_count, static_cast<unsigned>(kBlockBytes / context.chunk_bytes)) {}

 private:
  void insert(ChunkId chunk) override { blocks_.insert(chunk, content_of(chunk)); }
  void hit(ChunkId chunk) override { blocks_.use(chunk); }
  void remove(ChunkId chunk) override { blocks_.remove(chunk); }
  ChunkId replace(const EvictionQueries& queries) override {
    for (GroupId block = blocks_.oldest(); block.valid(); block = blocks_.younger(block)) {
      const ChunkId victim = blocks_.oldest_evictable(block, queries);
      if (victim.valid()) {
        blocks_.remove(victim);
        return victim;
      }
    }
    return {};
  }

  ChunkGroups blocks_;
};

}  // namespace

UVMSIM_POLICY(sequential_local, SequentialLocal);

}  // namespace uvmsim::policy
