// SPDX-License-Identifier: Apache-2.0
// The driver's prefetcher with the hooks of gpu_ext.
#pragma once

#include "bpf/host/session.h"

namespace uvmsim::bpf {

// Returns the pages to fetch with faults of a block. For each faulted page, in order, `before_compute`: 0, the driver
// walks up the tree and takes the largest node of which more than 51 % is there (sim/policy/density_tree.h); 1, the
// region that the policy set; 2, it walks up the tree and calls `on_tree_iter` at every node, which may set the region.
// Once a region reaches the end of the block, no further page is asked for. Source: uvm_perf_prefetch.c of NVIDIA UVM
// 575, and how gpu_ext describes its change of it.
PageMask prefetch_with_hooks(Session& session, const policy::FaultedBlock& block);

}  // namespace uvmsim::bpf
