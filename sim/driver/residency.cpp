// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/residency.h"

#include <algorithm>

#include "sim/driver/mappings.h"

namespace uvmsim::driver {

void Residency::to_gpu(Work& work, BlockIndex b, unsigned gpu, const Migration& migration) {
  AddressSpace& space = context_.space;
  VaBlock& block = space.block(b);
  const ProcessorId self = gpu_processor(gpu);
  ProcessorPages& mine = space.pages(b, self);
  ProcessorPages& host = space.pages(b, kHost);

  const PageMask on_host_before = asks_route(context_, gpu) ? host.resident : PageMask{};
  const Ways ways = ways_from_gpus(work, b, gpu, migration);

  context_.hooks->before_arrival(b, gpu);
  context_.host_memory.use(b, migration.pages());
  // This comes first, because a short block may lose pages of its own to the evictions.
  const Demand demand{b, gpu, migration.spared};
  chunks_.back(work, demand, migration.pages());
  const PageMask absent = migration.pages() - mine.resident;
  PageMask from_peers;  // a peer with a link is closer than the host
  for (unsigned other = 0; other < space.gpu_count(); ++other) {
    if (other != gpu && ways.by_links(other)) from_peers |= absent & space.pages(b, gpu_processor(other)).resident;
  }
  from_peers -= block.discarded;
  const PageMask copied = (absent & host.resident) - from_peers - block.discarded;
  const PageMask populated = absent - copied - from_peers;

  // The host loses its mappings of pages that move, also of copies of pages that are here already; it loses the right
  // to write pages that are duplicated. Evicted pages are not mapped on the host, so that they need no work.
  const config::DriverCosts& costs = context_.costs();
  (migration.duplicate ? host.writable & copied : host.mapped & migration.pages())
      .for_each_run(
          [&](unsigned, unsigned count) { work.spend(costs.unmap_host_run_ns + costs.unmap_host_page_ns * count); });
  if (!from_peers.empty() && !context_.hooks->holds(b)) {
    work.spend(costs.unmap_peer_ns + costs.unmap_host_page_ns * from_peers.count());
  }
  if (migration.duplicate && host.writable.intersects(copied)) work.spend(costs.protect_block_ns);
  if (migration.duplicate && !from_peers.empty()) protect_on_peers(b, gpu, from_peers);
  // Pages that are here already may have copies on the host: a write ends their duplication.
  if (!migration.duplicate) {
    host.mapped -= migration.pages();
    // Peers keep their remote mappings of pages that are resident only here.
    const PageMask from_others = absent | (migration.pages() & block.read_duplicated);
    for (unsigned other = 0; other < space.gpu_count(); ++other) {
      if (other != gpu) unmap(context_, b, other, from_others);
    }
  }
  host.writable -= migration.pages();
  unmap(context_, b, gpu, absent);  // remote mappings

  const Nanoseconds ready =
      std::max({backing_.ready(b, gpu, absent), host_tier_.fetch(work.cpu, b, copied), ways.on_host});
  const PageMask again = block.evicted & (copied | from_peers);
  if (!populated.empty()) {
    context_.counters.populated_pages += populated.count();
    work.spend(context_.costs().populate_page_ns * populated.count());
    work.await(ready);
  }
  // The nearest copies go first; the engines do not wait for each other.
  if (!from_peers.empty()) copy_from_peers(work, b, gpu, ready, from_peers, migration, ways);
  if (!copied.empty()) copy_from_host(work, b, gpu, ready, copied, on_host_before, migration);
  if (!copied.empty() || !from_peers.empty()) work.spend(context_.costs().after_push_ns);
  if (block.kind == MemoryKind::kSystem) work.spend(context_.system.coherence.hmm_page_ns * copied.count());
  context_.counters.reloaded_pages += again.count();
  block.evicted -= absent;

  if (migration.duplicate) {
    block.read_duplicated |= (absent & host.resident) | from_peers;
  } else {
    for (unsigned other = 0; other < space.gpu_count(); ++other) {
      if (other != gpu) departures_.drop_copies(work, b, other, migration.pages());
    }
    context_.host_resident_pages -= (host.resident & migration.pages()).count();
    host.resident -= migration.pages();
    host_tier_.leave(b, migration.pages(), work.done());
    block.read_duplicated -= migration.pages();
  }
  block.discarded -= migration.cause == TransferCause::kUser ? migration.pages() : absent;
  mine.resident |= absent;
  context_.prefetch_history.mark(b, migration.prefetched & absent);
  if (block.hints.accessed_by != 0) map_after_migration(context_, work, b, absent);
  context_.gpus[gpu].add_resident(block, absent.count());
  chunks_.settle(gpu);
  if (policy::Migrator* migrator = context_.gpus[gpu].migrator.get(); migrator != nullptr && !absent.empty()) {
    migrator->on_migrated(b, absent);
  }
  backing_.used(b, gpu);
  if (!absent.empty()) emit_residency(context_, gpu, work.done());
  if (context_.accounts != nullptr) {
    const auto tell = [&](const PageMask& pages, ResidencyChange change) {
      tell_residency(*context_.accounts, gpu, b, pages, change, work.done());
    };
    tell(populated, ResidencyChange::kPopulated);
    tell((copied | from_peers) - again, ResidencyChange::kLoaded);
    tell(again, ResidencyChange::kReloaded);
  }
  chunks_.serve_early_victims(work, demand);
  context_.hooks->after_arrival(work, b, gpu, migration.spared);
}

// Makes the copies on peers read-only.
void Residency::protect_on_peers(BlockIndex b, unsigned gpu, const PageMask& pages) {
  for (unsigned other = 0; other < context_.space.gpu_count(); ++other) {
    if (other == gpu) continue;
    ProcessorPages& theirs = context_.space.pages(b, gpu_processor(other));
    if (!theirs.writable.intersects(pages)) continue;
    theirs.writable -= pages;
    context_.space.note_unmap(other);
  }
}

// Chooses the routes of pages on other GPUs to this one. Pages whose route leads through the host are copied there now.
Residency::Ways Residency::ways_from_gpus(Work& work, BlockIndex b, unsigned gpu, const Migration& migration) {
  AddressSpace& space = context_.space;
  const ProcessorId self = gpu_processor(gpu);
  const bool asks = asks_route(context_, gpu);
  Ways ways;
  // Pages are fetched from the first GPU that holds them and has a link to this one.
  PageMask left = migration.pages() - space.pages(b, self).resident - space.block(b).discarded;
  for (unsigned other = 0; other < space.gpu_count(); ++other) {
    if (other == gpu) continue;
    const bool joined = context_.topology.peer(other, gpu) != nullptr;
    if (!joined) ways.by_host |= std::uint32_t{1} << other;
    if (joined && !asks) continue;
    PageMask there = space.pages(b, gpu_processor(other)).resident & (joined ? left : migration.pages());
    if (there.empty()) continue;
    policy::Route way{policy::Route::Way::kHost, 0};
    if (const PageMask moved = there & left; asks && !moved.empty()) {
      way = choose_route(context_, work, gpu, move_of(b, gpu_processor(other), self, moved, migration.cause_of(moved)));
      left -= moved;
    }
    if (way.way == policy::Route::Way::kHost) {
      ways.by_host |= std::uint32_t{1} << other;
      const bool copied = !(there - space.pages(b, kHost).resident).empty();
      to_host(work, b,
              {migration.demanded & there, migration.prefetched & there, migration.cause, migration.duplicate, true});
      if (copied) {
        ways.on_host = std::max(ways.on_host, context_.topology.engine(gpu_processor(other), kHost).busy_until());
      }
    } else if (is_detour(way)) {
      ways.by_host &= ~(std::uint32_t{1} << other);
      ways.detours.resize(space.gpu_count());
      ways.detours[other] = way;
    }
  }
  return ways;
}

// `asked`: those of the pages whose way is still open, as they did not come to the host on the way.
void Residency::copy_from_host(Work& work, BlockIndex b, unsigned gpu, Nanoseconds ready, const PageMask& pages,
                               const PageMask& asked, const Migration& migration) {
  const ProcessorId self = gpu_processor(gpu);
  VaBlock& block = context_.space.block(b);
  policy::Route way;
  const PageMask free = pages & asked;
  if (migration.way != nullptr) {
    way = *migration.way;
  } else if (!free.empty()) {
    way = choose_route(context_, work, gpu, move_of(b, kHost, self, free, migration.cause_of(free)));
  }
  const auto bring = [&](const PageMask& part, const policy::Route& on) {
    if (part.empty()) return;
    for_each_stripe(on, part, [&](const policy::Route& stripe, const PageMask&) {
      const ProcessorId reader = is_detour(stripe) ? gpu_processor(stripe.gpu) : self;
      if ((block.dma_mapped & reader.bit()) != 0) return;
      block.dma_mapped |= reader.bit();
      work.spend(context_.costs().dma_map_chunk_ns);
    });
    copies_.carry(work, b, {kHost, self}, on, ready, migration.part(part));
  };
  const PageMask around = is_detour(way) ? free : PageMask{};
  bring(pages - around, {});
  bring(around, way);
}

// Issues a push per GPU that holds some of the pages.
void Residency::copy_from_peers(Work& work, BlockIndex b, unsigned gpu, Nanoseconds ready, PageMask pages,
                                const Migration& migration, const Ways& ways) {
  for (unsigned other = 0; other < context_.space.gpu_count() && !pages.empty(); ++other) {
    if (other == gpu || !ways.by_links(other)) continue;
    const PageMask here = pages & context_.space.pages(b, gpu_processor(other)).resident;
    if (here.empty()) continue;
    // A lent chunk comes back as a whole, whichever of its pages are demanded, and is free when it has been read.
    GpuMemory& memory = context_.gpus[other].memory;
    const ChunkId chunk = memory.whole(b);
    const bool lent = chunk.valid() && memory.chunk(chunk).state == ChunkState::kForeign;
    const bool whole = lent && !migration.demanded.empty();
    const Nanoseconds read = copies_.carry(work, b, {gpu_processor(other), gpu_processor(gpu)}, ways.detour(other),
                                           std::max(ready, backing_.ready(b, other, here)),
                                           whole ? Load{here, {}, migration.cause} : migration.part(here));
    if (chunk.valid()) memory.chunk(chunk).ready = read;
    if (lent) context_.hooks->fetched(b);
    pages -= here;
  }
}

void Residency::to_host(Work& work, BlockIndex b, const Migration& migration) {
  AddressSpace& space = context_.space;
  VaBlock& block = space.block(b);
  ProcessorPages& host = space.pages(b, kHost);
  const PageMask absent = migration.pages() - host.resident;
  PageMask zeroed = absent;
  host_tier_.back(work, b, absent);
  if (block.kind == MemoryKind::kSystem) work.spend(context_.system.coherence.hmm_page_ns * absent.count());
  const Nanoseconds ready = host_tier_.admit(work.cpu, b, absent);
  work.await(ready);
  work.await(host_tier_.fetch(work.cpu, b, context_.host_memory.whole_units(migration.pages()) & host.resident));
  for (unsigned gpu = 0; gpu < space.gpu_count(); ++gpu) {
    ProcessorPages& theirs = space.pages(b, gpu_processor(gpu));
    const PageMask copied = (zeroed & theirs.resident) - block.discarded;  // of several copies, the first
    // Remote mappings of pages that the host already holds stay.
    if (!migration.duplicate) unmap(context_, b, gpu, absent | (theirs.resident & migration.pages()));
    zeroed -= theirs.resident;
    if (!copied.empty()) {
      const policy::Route way = way_to_host(work, b, gpu, copied, migration);
      copies_.carry(work, b, {gpu_processor(gpu), kHost}, way, ready, migration.part(copied));
    }
    if (migration.duplicate) {
      block.read_duplicated |= absent & theirs.resident;
      if (theirs.writable.intersects(migration.pages())) space.note_unmap(gpu);
      theirs.writable -= migration.pages();
    } else {
      departures_.drop_copies(work, b, gpu, migration.pages());
    }
  }
  work.spend(context_.costs().host_zero_page_ns * zeroed.count());
  if (!migration.duplicate) block.read_duplicated -= migration.pages();
  block.discarded -= migration.cause == TransferCause::kUser ? migration.pages() : absent;
  host.resident |= absent;
  context_.host_resident_pages += absent.count();
  if (block.hints.accessed_by != 0 && !migration.staged) map_after_migration(context_, work, b, absent);
}

policy::Route Residency::way_to_host(Work& work, BlockIndex b, unsigned gpu, const PageMask& copied,
                                     const Migration& migration) {
  if (migration.staged || !asks_route(context_, gpu)) return {};
  return choose_route(context_, work, gpu, move_of(b, gpu_processor(gpu), kHost, copied, migration.cause_of(copied)));
}

}  // namespace uvmsim::driver
