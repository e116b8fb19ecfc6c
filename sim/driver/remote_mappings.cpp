// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/remote_mappings.h"

namespace uvmsim::driver {

namespace {

// Maps those of the pages that the GPU does not hold, and the host or a peer of it does. A preferred location gets no
// remote mappings: it faults and pulls the pages.
void map_elsewhere(DriverContext& context, Residency& residency, Work& work, BlockIndex b, unsigned gpu,
                   const PageMask& pages) {
  const VaBlock& block = context.space.block(b);
  if (block.hints.preferred == gpu_processor(gpu)) return;
  const ProcessorPages& mine = context.space.pages(b, gpu_processor(gpu));
  const PageMask& on_host = context.space.pages(b, kHost).resident;
  PageMask held = on_host - context.host_memory.swapped(b, on_host);
  for (unsigned other = 0; other < context.space.gpu_count(); ++other) {
    if (other != gpu && context.topology.peer(other, gpu) != nullptr) {
      held |= context.space.pages(b, gpu_processor(other)).resident;
    }
  }
  const PageMask remote = (pages & held) - mine.resident;
  const PageMask writable = block.hints.read_mostly ? PageMask{} : remote - block.read_duplicated;
  if (!remote.empty()) residency.map_remote(work, b, gpu, remote, writable);
}

}  // namespace

void map_after_migration(DriverContext& context, Residency& residency, Work& work, BlockIndex b,
                         const PageMask& pages) {
  for (unsigned gpu = 0; gpu < context.space.gpu_count(); ++gpu) {
    if ((context.space.block(b).hints.accessed_by & gpu_processor(gpu).bit()) == 0) continue;
    map_elsewhere(context, residency, work, b, gpu, pages);
  }
}

void map_after_eviction(DriverContext& context, Residency& residency, BlockIndex b, unsigned gpu, const PageMask& pages,
                        Nanoseconds now) {
  Work worker(now);
  map_after_migration(context, residency, worker, b, pages);
  policy::Migrator* migrator = context.gpus[gpu].migrator.get();
  const bool rest = migrator != nullptr ? migrator->on_evicted(b, pages) && !context.space.block(b).hints.any()
                                        : context.system.driver.access_counter_migration;
  if (rest) map_elsewhere(context, residency, worker, b, gpu, pages);
}

void map_pinned(DriverContext& context, Residency& residency, Work& work, BlockIndex b,
                const std::vector<Thrashing::Verdict::RemoteMapping>& mappings) {
  ProcessorPages& host = context.space.pages(b, kHost);
  for (const auto& [processor, pages] : mappings) {
    if (processor.is_gpu()) {
      map_elsewhere(context, residency, work, b, processor.gpu(), pages);
    } else {
      // The host maps only its own memory: pages pinned there.
      const PageMask own = (pages & host.resident) - context.host_memory.swapped(b, host.resident);
      host.mapped |= own;
      host.writable |= own - context.space.block(b).read_duplicated;
    }
  }
}

void unmap_unpinned(DriverContext& context, Residency& residency, BlockIndex b, const PageMask& pages) {
  for (unsigned gpu = 0; gpu < context.space.gpu_count(); ++gpu) {
    const ProcessorId self = gpu_processor(gpu);
    if ((context.space.block(b).hints.accessed_by & self.bit()) != 0) continue;
    residency.unmap_gpu(b, gpu, pages - context.space.pages(b, self).resident);
  }
}

void expire_pins(DriverContext& context, Residency& residency, Thrashing& thrashing, Nanoseconds now) {
  for (const Thrashing::Unpinned& unpinned : thrashing.expire(now)) {
    unmap_unpinned(context, residency, unpinned.block, unpinned.pages);
  }
}

}  // namespace uvmsim::driver
