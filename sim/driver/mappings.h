// SPDX-License-Identifier: Apache-2.0
// What a GPU maps: pages that it holds, and pages that live elsewhere, for whoever faults and beyond that for
// accessed-by hints, evicted pages under access counters, and the processors that fight over a pinned page.
//
// Follows NVIDIA UVM 580 uvm_va_block.c (add_mappings_after_migration and the worker that runs after evictions) and
// uvm_perf_thrashing.c (unmap_remote_pinned_pages).
#pragma once

#include <vector>

#include "sim/driver/context.h"
#include "sim/driver/thrashing.h"

namespace uvmsim::driver {

// Page-table entries of a GPU for pages resident on it, and for pages resident elsewhere.
void map_local(DriverContext& context, Work& work, BlockIndex block, unsigned gpu, const PageMask& pages,
               const PageMask& writable);
void map_remote(DriverContext& context, Work& work, BlockIndex block, unsigned gpu, const PageMask& pages,
                const PageMask& writable);
// They go. Every such step comes through here: kernels in flight rely on it.
void unmap(DriverContext& context, BlockIndex block, unsigned gpu, const PageMask& pages);

// `pages` are about to be read-duplicated. Those that are no duplicates yet may be written by nobody any more: whoever
// holds the only copy keeps its mapping and faults when it writes next. (block_prep_read_duplicate_mapping)
void end_writing(DriverContext& context, Thrashing& thrashing, Work& work, BlockIndex block, const PageMask& pages);

// `pages` became resident on the host or a GPU: GPUs in accessed_by map them there.
void map_after_migration(DriverContext& context, Work& work, BlockIndex block, const PageMask& pages);

// `pages` were evicted from the GPU to the host: as above, and the GPU itself keeps them mapped when access counters
// may bring them back, where the link is coherent (uvm_va_block.c), or its migrate policy lets them rest there. The
// driver does this in a deferred worker, so the evicting operation does not wait for it.
void map_after_eviction(DriverContext& context, BlockIndex block, unsigned gpu, const PageMask& pages, Nanoseconds now);

// Pages were placed by a pin: the processors that fight over them map them remotely.
void map_pinned(DriverContext& context, Work& work, BlockIndex block,
                const std::vector<Thrashing::Verdict::RemoteMapping>& mappings);

// Removes the remote mappings of pages that are no longer pinned, except those of accessed_by.
void unmap_unpinned(DriverContext& context, BlockIndex block, const PageMask& pages);
// The same for all pins whose time is up.
void expire_pins(DriverContext& context, Thrashing& thrashing, Nanoseconds now);

}  // namespace uvmsim::driver
