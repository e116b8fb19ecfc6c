// SPDX-License-Identifier: Apache-2.0
// Who maps pages that live elsewhere, beyond the faulting processor: accessed-by hints, evicted pages under access
// counters, and the processors that fight over a pinned page.
//
// Follows NVIDIA UVM 580 uvm_va_block.c (add_mappings_after_migration and the worker that runs after evictions) and
// uvm_perf_thrashing.c (unmap_remote_pinned_pages).
#pragma once

#include <vector>

#include "sim/driver/residency.h"
#include "sim/driver/thrashing.h"

namespace uvmsim::driver {

// `pages` became resident on the host or a GPU: GPUs in accessed_by map them there.
void map_after_migration(DriverContext& context, Residency& residency, Work& work, BlockIndex block,
                         const PageMask& pages);

// `pages` were evicted from the GPU to the host: as above, and the GPU itself keeps them mapped when access counters
// may bring them back or its migrate policy lets them rest there. The driver does this in a deferred worker, so the
// evicting operation does not wait for it.
void map_after_eviction(DriverContext& context, Residency& residency, BlockIndex block, unsigned gpu,
                        const PageMask& pages, Nanoseconds now);

// Pages were placed by a pin: the processors that fight over them map them remotely.
void map_pinned(DriverContext& context, Residency& residency, Work& work, BlockIndex block,
                const std::vector<Thrashing::Verdict::RemoteMapping>& mappings);

// Removes the remote mappings of pages that are no longer pinned, except those of accessed_by.
void unmap_unpinned(DriverContext& context, Residency& residency, BlockIndex block, const PageMask& pages);
// The same for all pins whose time is up.
void expire_pins(DriverContext& context, Residency& residency, Thrashing& thrashing, Nanoseconds now);

}  // namespace uvmsim::driver
