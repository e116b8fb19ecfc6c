// SPDX-License-Identifier: Apache-2.0
// The tree of NVIDIA's prefetcher, which measures how dense the surroundings of faulted pages are, and selects pages to
// fetch.
#pragma once

#include "sim/policy/policy.h"

namespace uvmsim::policy {

// A complete binary tree covers the pages of the block. Every 64 KB unit with a fault (and without a thrashing page)
// counts as complete; a node is dense when more than `threshold` percent of its pages are resident or faulting.
// - Without cascade, as in the driver: the largest dense node around every faulted page is selected.
// - With cascade, as in the ISCA 2019 simulator: from the units up, a dense node is filled, and its parent counts it as
//   full. One fault may fill the whole block that way.
// Returns pages inside [first_page, end_page); resident, faulted and thrashing ones may be among them.
// Source: NVIDIA UVM 580, uvm_perf_prefetch.c; Ganguly et al., ISCA 2019 (gpgpu-sim_UVMSmart, gpu-sim.cc).
PageMask dense_surroundings(const FaultedBlock& block, unsigned threshold, bool cascade);

// The leaves of the tree: pages that are resident, faulted, or in the unit of a faulted page. Leaf 0 is page `base` of
// the block, so that units begin at leaves 0, 16, ...; first_page - base leaves before the block's first page are
// absent.
struct TreeLeaves {
  PageMask present;
  unsigned base = 0;
};
TreeLeaves leaves_under_tree(const FaultedBlock& block);

}  // namespace uvmsim::policy
