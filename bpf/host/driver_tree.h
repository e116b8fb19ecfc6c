// SPDX-License-Identifier: Apache-2.0
// The driver's prefetcher with the hooks of gpu_ext.
#pragma once

#include "bpf/host/session.h"

namespace uvmsim::bpf {

// Returns the pages to fetch with faults of a block. For each faulted page, in order, it calls `before_compute`. With
// the answer 0 the driver walks up the tree and takes the largest node of which more than 51 % is resident
// (sim/policy/density_tree.h). With 1 it takes the region that the policy set. With 2 it walks up the tree and calls
// `on_tree_iter` at every node, which may set the region. Once a region reaches the end of the block, no further page
// is asked for. Source: uvm_perf_prefetch.c of NVIDIA UVM 575, and gpu_ext's description of its change.
PageMask prefetch_with_hooks(Session& session, const policy::FaultedBlock& block);

}  // namespace uvmsim::bpf
