// SPDX-License-Identifier: Apache-2.0
// The driver's access counters: evicted memory stays remote-mapped on the host, and returns once it is used enough
// there.
#include <algorithm>
#include <vector>

#include "sim/policy/block_map.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class AccessCounters final : public Migrator {
 public:
  static PolicyInfo info() {
    return {.description = "comes at first touch; once evicted it rests on the host until it is used enough there",
            .source = "the UVM driver's access counter migration, uvm_gpu_access_counters.c",
            .information = InformationClass::kD1};
  }
  static ParameterTable parameters() {
    return {
        integer("threshold", 256, {1, 65535}, "accesses of 128 bytes to a 2 MB block that bring its used 64 KB units")};
  }

  explicit AccessCounters(const PolicyContext& context)
      : threshold_(static_cast<std::uint32_t>(context.parameters.integer("threshold"))) {}

  RestingPages rest(const FaultedPages&) override { return {}; }
  bool on_evicted(BlockIndex, const PageMask&) override { return true; }

  PageMask fetch(const RemoteAccesses& accesses) override {
    Region& region = regions_[accesses.block];
    region.used |= whole_units(accesses.pages);
    const std::uint64_t count = region.accesses + accesses.accesses;
    region.accesses = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, threshold_));
    if (count < threshold_) return {};
    const PageMask pages = region.used;
    region = Region{};
    return pages;
  }
  void on_freed(BlockIndex block) override { regions_.forget(block); }

  void add_state(StateDigest& digest) const override {
    regions_.for_each([&](BlockIndex block, const Region& region) {
      if (region.accesses == 0) return;
      digest.add(block.value);
      digest.add(region.accesses);
      region.used.for_each_run([&](unsigned first, unsigned count) { digest.add(first * kPagesPerBlock + count); });
    });
  }

 private:
  struct Region {
    std::uint32_t accesses = 0;
    PageMask used;
  };

  std::uint32_t threshold_;
  BlockMap<Region> regions_;
};

}  // namespace

UVMSIM_POLICY(access_counters, AccessCounters);

}  // namespace uvmsim::policy
