// SPDX-License-Identifier: Apache-2.0
// NVIDIA's tree prefetcher: the densest surroundings of every faulted page, up to the whole 2 MB block.
//
// density_tree.h decides what to fetch; this file decides when. Source: NVIDIA UVM 580, uvm_perf_prefetch.c.
#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "sim/policy/density_tree.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class Tree final : public Prefetcher {
 public:
  static PolicyInfo info() {
    return {.description = "NVIDIA's density tree: the largest node around a fault that is more than half there",
            .source = "NVIDIA UVM 580, uvm_perf_prefetch.c; with cascade TBNp of Ganguly et al., ISCA 2019"};
  }
  static ParameterTable parameters() {
    return {integer("threshold", 51, {0, 100},
                    "percent of a node's pages that must be exceeded to fetch all of it; 0: a fault fetches its block"),
            boolean("cascade", false,
                    "as the ISCA 2019 simulator: a node that was filled counts as full for the nodes above it"),
            integer("min_faults", 1, {1, 20}, "faulted pages a block needs before it is prefetched at all")};
  }

  explicit Tree(const PolicyContext& context)
      : threshold_(static_cast<unsigned>(context.parameters.integer("threshold"))),
        cascade_(context.parameters.boolean("cascade")),
        min_faults_(static_cast<unsigned>(context.parameters.integer("min_faults"))) {}

  PageMask prefetch(const FaultedBlock& block) override {
    if (!has_enough_faults(block)) return {};
    const bool populate_all = block.resident_nowhere && block.destination_is_preferred;
    const PageMask pages = populate_all ? PageMask::range(block.first_page, block.end_page - block.first_page)
                                        : dense_surroundings(block, threshold_, cascade_);
    return pages - block.faulted - block.thrashing;
  }

  void on_freed(BlockIndex block) override { streaks_.erase(block.value); }

  void add_state(StateDigest& digest) const override {
    if (!streaks_.empty()) digest.refuse();
  }

 private:
  // The number of faulted pages since the block's faults last changed direction, to the host or to the GPU.
  struct Streak {
    bool to_host = false;
    unsigned faults = 0;
  };

  bool has_enough_faults(const FaultedBlock& block) {
    if (min_faults_ <= 1) return true;
    Streak& streak = streaks_[block.block.value];
    if (streak.to_host != block.to_host) streak = {block.to_host, 0};
    streak.faults = std::min(streak.faults + block.faulted.count(), min_faults_);
    return streak.faults >= min_faults_;
  }

  unsigned threshold_;
  bool cascade_;
  unsigned min_faults_;
  std::unordered_map<std::uint64_t, Streak> streaks_;  // only looked up, never iterated; empty when min_faults is 1
};

}  // namespace

UVMSIM_POLICY(tree, Tree);

}  // namespace uvmsim::policy
