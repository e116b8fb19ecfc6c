// SPDX-License-Identifier: Apache-2.0
// Page-table entries of GPUs: for pages on the GPU, and for pages elsewhere. The latter serve a faulting GPU,
// accessed-by hints, evicted pages under access counters, and processors that contend for a pinned page.
//
// Follows NVIDIA UVM 580 uvm_va_block.c (add_mappings_after_migration and the worker that runs after evictions) and
// uvm_perf_thrashing.c (unmap_remote_pinned_pages).
#pragma once

#include <vector>

#include "sim/driver/context.h"
#include "sim/driver/thrashing.h"

namespace uvmsim::driver {

// Maps pages that are resident on the GPU (map_local) or elsewhere (map_remote).
void map_local(DriverContext& context, Work& work, BlockIndex block, unsigned gpu, const PageMask& pages,
               const PageMask& writable);
void map_remote(DriverContext& context, Work& work, BlockIndex block, unsigned gpu, const PageMask& pages,
                const PageMask& writable);
// Unmaps the pages. All unmapping must go through here, as kernels in flight rely on it.
void unmap(DriverContext& context, BlockIndex block, unsigned gpu, const PageMask& pages);
// Revokes the GPU's permission to write the pages, which it keeps mapped.
void protect(DriverContext& context, BlockIndex block, unsigned gpu, const PageMask& pages);

// Prepares read duplication of `pages`. The holder of a page that has no duplicates yet loses the permission to write
// it: it keeps its mapping and faults on its next write. (block_prep_read_duplicate_mapping)
void end_writing(DriverContext& context, Thrashing& thrashing, Work& work, BlockIndex block, const PageMask& pages);

// Maps `pages`, which became resident on the host or a GPU, on the GPUs in accessed_by.
void map_after_migration(DriverContext& context, Work& work, BlockIndex block, const PageMask& pages);

// Maps `pages`, which the GPU evicted to the host, on the GPUs in accessed_by. The GPU itself keeps them mapped if
// access counters may migrate them back, if the link is coherent (uvm_va_block.c), or if its migrate policy leaves them
// remote-mapped. The driver does this in a deferred worker, so that the evicting operation does not wait for it.
void map_after_eviction(DriverContext& context, BlockIndex block, unsigned gpu, const PageMask& pages, Nanoseconds now);

// Maps pinned pages remotely on the processors that contend for them.
void map_pinned(DriverContext& context, Work& work, BlockIndex block,
                const std::vector<Thrashing::Verdict::RemoteMapping>& mappings);

// Removes the remote mappings of pages that are no longer pinned, except those of accessed_by.
void unmap_unpinned(DriverContext& context, BlockIndex block, const PageMask& pages);
// Unpins all pages whose pin has expired, and removes their remote mappings likewise.
void expire_pins(DriverContext& context, Thrashing& thrashing, Nanoseconds now);

}  // namespace uvmsim::driver
