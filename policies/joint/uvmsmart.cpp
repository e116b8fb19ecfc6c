// SPDX-License-Identifier: Apache-2.0
// UVMSmart's runtime: observes the order in which 64 KB units arrive, and switches eviction and migration accordingly.
//
// Per kernel, the arriving units of an allocation are linear (ascending) or random; an allocation with a repeated unit
// has reuse. At each eviction: if some allocation is random, now or in an earlier kernel, tree-based pre-eviction, with
// delayed migration once memory is full; else, if some allocation has reuse, tree-based pre-eviction; else eviction of
// the least recently used 2 MB. The prefetcher is UVMSmart's throughout: `tree:cascade=true`.
#include <map>

#include "policies/evict/tree_evictor.h"
#include "policies/migrate/delayed_migrator.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class UvmSmart final : public TreeEvictor, public Migrator {
 public:
  static PolicyInfo info() {
    return {
        .description = "2 MB LRU, tree-based pre-eviction or that with delayed migration, by the order of what came",
        .source = "Ganguly et al., DATE 2021, as in gpgpu-sim_UVMSmart",
        .information = InformationClass::kD3,
        .granularity = Granularity::kBigPage};
  }
  static ParameterTable parameters() {
    return {integer("threshold", 8, {1, 65535}, "accesses of 128 bytes that bring a unit of a random program")};
  }

  explicit UvmSmart(const PolicyContext& context)
      : TreeEvictor(context),
        delayed_(DelayedMigrator::Mode::kOversubscribed,
                 static_cast<std::uint64_t>(context.parameters.integer("threshold")), 1) {}

  RestingPages rest(const FaultedPages& faulted) override {
    range_[faulted.block] = faulted.range.value + 1;
    return random_ ? delayed_.rest(faulted) : RestingPages{};
  }
  PageMask fetch(const RemoteAccesses& accesses) override { return random_ ? delayed_.fetch(accesses) : PageMask{}; }
  bool on_evicted(BlockIndex block, const PageMask& pages) override {
    units_[block].here -= pages;
    delayed_.on_evicted(block, pages);
    return false;
  }
  void on_migrated(BlockIndex block, const PageMask& pages) override {
    Units& units = units_[block];
    for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
      const PageMask coming = pages & unit_mask(unit), here = units.here & unit_mask(unit);
      if (coming.empty()) continue;
      units.here |= coming;
      if (!here.empty() && !here.intersects(coming)) continue;  // another part of a unit that arrives in parts
      const std::uint32_t bit = std::uint32_t{1} << unit;
      came(block, unit, (units.seen & bit) != 0);
      units.seen |= bit;
    }
  }
  void on_kernel(std::uint32_t) override { ++kernel_; }
  void on_freed(BlockIndex block) override {
    units_.forget(block);
    range_.forget(block);
    allocations_.erase(block.value);  // if it is the first block of an allocation
    delayed_.on_freed(block);
  }

  using TreeEvictor::add_state;
  using TreeEvictor::on_freed;
  using TreeEvictor::on_migrated;

 private:
  struct Units {
    PageMask here;           // pages that came and were not evicted
    std::uint32_t seen = 0;  // a bit per unit that has ever come
  };
  struct Allocation {
    std::uint64_t kernel = 0, last = 0;  // the last unit that came, and its kernel
    bool random = false, reuse = false;
  };

  void came(BlockIndex block, unsigned unit, bool again) {
    const std::uint64_t range = range_[block] != 0 ? range_[block] - 1 : block.value;
    const std::uint64_t place = block.value * kBigPagesPerBlock + unit;
    Allocation& allocation = allocations_[range];
    allocation.random = allocation.random || (allocation.kernel == kernel_ && place < allocation.last);
    allocation.reuse = allocation.reuse || again;
    allocation.kernel = kernel_;
    allocation.last = place;
  }
  // Called when a victim is wanted: looks at all allocations.
  bool whole_blocks() override {
    bool reuse = false;
    random_ = false;
    for (const auto& [first, allocation] : allocations_) {
      random_ = random_ || allocation.random;
      reuse = reuse || allocation.reuse;
    }
    return !random_ && !reuse;
  }

  DelayedMigrator delayed_;
  BlockMap<Units> units_;
  BlockMap<std::uint64_t> range_;                    // 1 + the first block of its allocation; 0: unknown
  std::map<std::uint64_t, Allocation> allocations_;  // by first block
  std::uint64_t kernel_ = 1;
  bool random_ = false;  // at the last eviction
};

}  // namespace

UVMSIM_POLICY(uvmsmart, UvmSmart);

}  // namespace uvmsim::policy
