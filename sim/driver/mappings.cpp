// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/mappings.h"

#include "sim/common/check.h"
#include "sim/config/coherence.h"

namespace uvmsim::driver {

void map_local(DriverContext& context, Work& work, BlockIndex b, unsigned gpu, const PageMask& pages,
               const PageMask& writable) {
  ProcessorPages& mine = context.space.pages(b, gpu_processor(gpu));
  UVMSIM_CHECK(mine.resident.contains(pages), "block {}: mapping pages that are not resident", b.value);
  work.spend(context.costs().map_block_ns + context.costs().map_page_ns * (pages - mine.mapped).count());
  context.gpus[gpu].page_tables.push_until(work.pushed);
  if (!((writable & pages & mine.mapped) - mine.writable).empty()) work.spend(context.costs().protect_block_ns);
  mine.mapped |= pages;
  mine.writable |= writable & pages;
  context.host_memory.drop_saved(b, writable & pages);
}

void map_remote(DriverContext& context, Work& work, BlockIndex b, unsigned gpu, const PageMask& pages,
                const PageMask& writable) {
  ProcessorPages& mine = context.space.pages(b, gpu_processor(gpu));
  const PageMask fresh = pages - mine.mapped;
  mine.mapped |= pages;
  mine.writable |= writable & pages;
  context.host_memory.drop_saved(b, writable & pages);
  if (fresh.empty()) return;
  work.spend(context.costs().remote_map_ns);
  fresh.for_each_run([&](unsigned first, unsigned count) {
    ++context.counters.remote_maps;
    context.counters.remote_map_bytes += count * kBasePageBytes;
    if (context.events != nullptr) {
      context.events->on(
          RemoteMapEvent{static_cast<std::int32_t>(gpu), work.cpu, virtual_address(b, first), count * kBasePageBytes});
    }
  });
}

void unmap(DriverContext& context, BlockIndex b, unsigned gpu, const PageMask& pages) {
  ProcessorPages& mine = context.space.pages(b, gpu_processor(gpu));
  if (!mine.mapped.intersects(pages)) return;
  mine.mapped -= pages;
  mine.writable -= pages;
  context.space.note_unmap(gpu);
  context.gpus[gpu].mmu.invalidate_pages(b, pages);
}

void protect(DriverContext& context, BlockIndex b, unsigned gpu, const PageMask& pages) {
  ProcessorPages& mine = context.space.pages(b, gpu_processor(gpu));
  if (!mine.writable.intersects(pages)) return;
  mine.writable -= pages;
  context.space.note_unmap(gpu);
}

void end_writing(DriverContext& context, Thrashing& thrashing, Work& work, BlockIndex b, const PageMask& pages) {
  const PageMask single = pages - context.space.block(b).read_duplicated;
  for (unsigned p = 0; p < context.space.processor_count(); ++p) {
    const ProcessorId holder{static_cast<std::uint8_t>(p)};
    ProcessorPages& theirs = context.space.pages(b, holder);
    const PageMask ended = single & theirs.resident & theirs.writable;
    if (ended.empty()) continue;
    thrashing.on_revocation(b, ended, holder, work.cpu);
    // The copy to the GPU that follows removes the host's mapping and is charged for it (Residency::to_gpu).
    if (holder.is_host()) continue;
    work.spend(context.costs().protect_block_ns);
    protect(context, b, holder.gpu(), ended);
    context.gpus[holder.gpu()].mmu.invalidate_pages(b, ended);
  }
}

namespace {

// Maps those pages that the host or a peer of the GPU holds and the GPU does not. A preferred location gets no remote
// mappings: it faults and migrates the pages to itself.
void map_elsewhere(DriverContext& context, Work& work, BlockIndex b, unsigned gpu, const PageMask& pages) {
  const VaBlock& block = context.space.block(b);
  const PageMask preferred =
      context.space.pages_where(b, [&](const Hints& hints) { return hints.preferred == gpu_processor(gpu); });
  const ProcessorPages& mine = context.space.pages(b, gpu_processor(gpu));
  const PageMask& on_host = context.space.pages(b, kHost).resident;
  PageMask held = on_host - context.host_memory.swapped(b, on_host);
  for (unsigned other = 0; other < context.space.gpu_count(); ++other) {
    if (other != gpu && context.topology.peer(other, gpu) != nullptr) {
      held |= context.space.pages(b, gpu_processor(other)).resident;
    }
  }
  const PageMask remote = (pages & held) - mine.resident - preferred;
  const PageMask writable = remote - context.read_mostly(b) - block.read_duplicated;
  if (!remote.empty()) map_remote(context, work, b, gpu, remote, writable);
}

}  // namespace

void map_after_migration(DriverContext& context, Work& work, BlockIndex b, const PageMask& pages) {
  for (unsigned gpu = 0; gpu < context.space.gpu_count(); ++gpu) {
    const PageMask accessed = context.accessed_by(b, gpu_processor(gpu));
    if (!accessed.empty()) map_elsewhere(context, work, b, gpu, pages & accessed);
  }
}

void map_after_eviction(DriverContext& context, BlockIndex b, unsigned gpu, const PageMask& pages, Nanoseconds now) {
  Work worker(now);
  map_after_migration(context, worker, b, pages);
  policy::Migrator* migrator = context.gpus[gpu].migrator.get();
  const bool rest = migrator != nullptr ? migrator->on_evicted(b, pages) && !context.space.block(b).hints.any()
                                        : context.system.driver.access_counter_migration ||
                                              config::keeps_evicted_mapped(context.system);
  if (rest) map_elsewhere(context, worker, b, gpu, pages);
}

void map_pinned(DriverContext& context, Work& work, BlockIndex b,
                const std::vector<Thrashing::Verdict::RemoteMapping>& mappings) {
  ProcessorPages& host = context.space.pages(b, kHost);
  for (const auto& [processor, pages] : mappings) {
    if (processor.is_gpu()) {
      map_elsewhere(context, work, b, processor.gpu(), pages);
    } else {
      // The host maps only its own memory: pages that are pinned there.
      const PageMask own = (pages & host.resident) - context.host_memory.swapped(b, host.resident);
      host.mapped |= own;
      host.writable |= own - context.space.block(b).read_duplicated;
    }
  }
}

void unmap_unpinned(DriverContext& context, BlockIndex b, const PageMask& pages) {
  for (unsigned gpu = 0; gpu < context.space.gpu_count(); ++gpu) {
    const ProcessorId self = gpu_processor(gpu);
    unmap(context, b, gpu, pages - context.space.pages(b, self).resident - context.accessed_by(b, self));
  }
}

void expire_pins(DriverContext& context, Thrashing& thrashing, Nanoseconds now) {
  for (const Thrashing::Unpinned& unpinned : thrashing.expire(now)) {
    unmap_unpinned(context, unpinned.block, unpinned.pages);
  }
}

}  // namespace uvmsim::driver
