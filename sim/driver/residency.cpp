// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/residency.h"

#include <algorithm>

#include "sim/driver/harvest_moves.h"
#include "sim/driver/mappings.h"

namespace uvmsim::driver {

Moved Residency::to_gpu(Work& work, BlockIndex b, unsigned gpu, const Migration& migration) {
  const Demand demand{b, gpu, migration.spared};
  const Ways ways = ways_from_gpus(work, b, gpu, migration);
  if (context_.harvest != nullptr) context_.harvest->adopt(b, gpu);
  context_.host_memory.use(b, migration.pages());
  // Memory comes before the plan, because a short block may lose pages of its own to the evictions.
  Moved moved = ways.moved;
  chunks_.back(work, demand, migration.pages(), moved);

  const Arrival arrival = plan(b, gpu, migration, ways);
  apply(b, gpu, migration, arrival);
  moved.copied |= charge(work, b, gpu, migration, arrival, ways);
  moved.populated |= !arrival.populated.empty();
  for (unsigned other = 0; other < context_.space.gpu_count() && !migration.duplicate; ++other) {
    if (other != gpu) departures_.drop_copies(work, b, other, migration.pages());
  }
  if (context_.space.block(b).hints.accessed_by != 0) map_after_migration(context_, work, b, arrival.absent);
  announce(work, b, gpu, migration, arrival);

  moved += chunks_.serve_early_victims(work, demand);
  if (HarvestMoves* const moves = context_.harvest_moves) moves->after_arrival(work, b, gpu, migration.spared, moved);
  return moved;
}

Residency::Arrival Residency::plan(BlockIndex b, unsigned gpu, const Migration& migration, const Ways& ways) const {
  const AddressSpace& space = context_.space;
  const VaBlock& block = space.block(b);
  const ProcessorPages& host = space.pages(b, kHost);
  Arrival arrival;
  arrival.absent = migration.pages() - space.pages(b, gpu_processor(gpu)).resident;
  for (unsigned other = 0; other < space.gpu_count(); ++other) {  // a peer with a link is closer than the host
    if (other == gpu || !ways.by_links(other)) continue;
    arrival.from_peers |= arrival.absent & space.pages(b, gpu_processor(other)).resident;
  }
  arrival.from_peers -= block.discarded;
  arrival.from_host = (arrival.absent & host.resident) - arrival.from_peers - block.discarded;
  arrival.populated = arrival.absent - arrival.from_host - arrival.from_peers;
  arrival.again = block.evicted & (arrival.from_host | arrival.from_peers);
  // The host also loses its mappings of copies of pages that are on this GPU already. Evicted pages are not mapped
  // there.
  arrival.host_loses = migration.duplicate ? host.writable & arrival.from_host : host.mapped & migration.pages();
  if (migration.duplicate) arrival.duplicated = (arrival.absent & host.resident) | arrival.from_peers;
  return arrival;
}

void Residency::apply(BlockIndex b, unsigned gpu, const Migration& migration, const Arrival& arrival) {
  AddressSpace& space = context_.space;
  VaBlock& block = space.block(b);
  ProcessorPages& host = space.pages(b, kHost);
  const PageMask pages = migration.pages();
  // Pages that are on this GPU already may have copies elsewhere: a write ends their duplication. Peers keep their
  // remote mappings of pages that are resident only here.
  const PageMask from_others = arrival.absent | (pages & block.read_duplicated);
  for (unsigned other = 0; other < space.gpu_count(); ++other) {
    if (other == gpu) continue;
    if (migration.duplicate) {
      protect(context_, b, other, arrival.from_peers);
    } else {
      unmap(context_, b, other, from_others);
    }
  }
  if (migration.duplicate) {
    block.read_duplicated |= arrival.duplicated;
  } else {
    context_.host_resident_pages -= (host.resident & pages).count();
    host.resident -= pages;
    host.mapped -= pages;
    block.read_duplicated -= pages;
  }
  host.writable -= pages;
  unmap(context_, b, gpu, arrival.absent);  // remote mappings
  block.evicted -= arrival.absent;
  block.discarded -= migration.cause == TransferCause::kUser ? pages : arrival.absent;
  space.pages(b, gpu_processor(gpu)).resident |= arrival.absent;
  context_.gpus[gpu].add_resident(block, arrival.absent.count());
}

// Returns whether demanded pages were copied.
bool Residency::charge(Work& work, BlockIndex b, unsigned gpu, const Migration& migration, const Arrival& arrival,
                       const Ways& ways) {
  const config::DriverCosts& costs = context_.costs();
  arrival.host_loses.for_each_run(
      [&](unsigned, unsigned count) { work.spend(costs.unmap_host_run_ns + costs.unmap_host_page_ns * count); });
  if (!arrival.from_peers.empty() && !is_lent(context_, b)) {
    work.spend(costs.unmap_peer_ns + costs.unmap_host_page_ns * arrival.from_peers.count());
  }
  if (migration.duplicate && !arrival.host_loses.empty()) work.spend(costs.protect_block_ns);
  const Nanoseconds ready = std::max(
      {backing_.ready(b, gpu, arrival.absent), host_tier_.fetch(work.cpu, b, arrival.from_host), ways.on_host});
  if (!arrival.populated.empty()) {
    work.spend(costs.populate_page_ns * arrival.populated.count());
    work.await(ready);
  }
  // The nearest copies go first; the engines do not wait for each other.
  bool copied = arrival.from_host.intersects(migration.demanded);
  if (!arrival.from_peers.empty()) copied |= copy_from_peers(work, b, gpu, ready, arrival.from_peers, migration, ways);
  if (!arrival.from_host.empty()) copy_from_host(work, b, gpu, ready, arrival.from_host, ways.open, migration);
  if (!arrival.from_host.empty() || !arrival.from_peers.empty()) work.spend(costs.after_push_ns);
  if (context_.space.block(b).kind == MemoryKind::kSystem) {
    work.spend(context_.system.coherence.hmm_page_ns * arrival.from_host.count());
  }
  if (!migration.duplicate) host_tier_.leave(b, migration.pages(), work.done());
  return copied;
}

void Residency::announce(const Work& work, BlockIndex b, unsigned gpu, const Migration& migration,
                         const Arrival& arrival) {
  context_.counters.populated_pages += arrival.populated.count();
  context_.counters.reloaded_pages += arrival.again.count();
  context_.prefetch_history.mark(b, migration.prefetched & arrival.absent);
  chunks_.settle(gpu);
  policy::Migrator* const migrator = context_.gpus[gpu].migrator.get();
  if (migrator != nullptr && !arrival.absent.empty()) migrator->on_migrated(b, arrival.absent);
  backing_.used(b, gpu);
  if (!arrival.absent.empty()) emit_residency(context_, gpu, work.done());
  if (context_.accounts == nullptr) return;
  const auto tell = [&](const PageMask& pages, ResidencyChange change) {
    tell_residency(*context_.accounts, gpu, b, pages, change, work.done());
  };
  tell(arrival.populated, ResidencyChange::kPopulated);
  tell((arrival.from_host | arrival.from_peers) - arrival.again, ResidencyChange::kLoaded);
  tell(arrival.again, ResidencyChange::kReloaded);
}

// Chooses the routes of pages on other GPUs to this one. Pages whose route leads through the host are copied there now.
Residency::Ways Residency::ways_from_gpus(Work& work, BlockIndex b, unsigned gpu, const Migration& migration) {
  AddressSpace& space = context_.space;
  const ProcessorId self = gpu_processor(gpu);
  const bool asks = asks_route(context_, gpu);
  Ways ways;
  if (asks) ways.open = space.pages(b, kHost).resident;
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
      ways.moved += to_host(
          work, b,
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

// `open`: pages that were on the host from the start, so that the route policy still has to be asked.
void Residency::copy_from_host(Work& work, BlockIndex b, unsigned gpu, Nanoseconds ready, const PageMask& pages,
                               const PageMask& open, const Migration& migration) {
  const ProcessorId self = gpu_processor(gpu);
  VaBlock& block = context_.space.block(b);
  policy::Route way;
  const PageMask free = pages & open;
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

// Issues a push per GPU that holds some of the pages. Returns whether demanded pages were copied.
bool Residency::copy_from_peers(Work& work, BlockIndex b, unsigned gpu, Nanoseconds ready, PageMask pages,
                                const Migration& migration, const Ways& ways) {
  bool demanded = false;
  for (unsigned other = 0; other < context_.space.gpu_count() && !pages.empty(); ++other) {
    if (other == gpu || !ways.by_links(other)) continue;
    const PageMask here = pages & context_.space.pages(b, gpu_processor(other)).resident;
    if (here.empty()) continue;
    // A lent chunk is copied as a whole, whichever of its pages are demanded, and is free when it has been read.
    GpuMemory& memory = context_.gpus[other].memory;
    const ChunkId chunk = memory.whole(b);
    const bool lent = chunk.valid() && memory.chunk(chunk).state == ChunkState::kForeign;
    const bool whole = lent && !migration.demanded.empty();
    const Load load = whole ? Load{here, {}, migration.cause} : migration.part(here);
    demanded |= !load.demanded.empty();
    const Nanoseconds read = copies_.carry(work, b, {gpu_processor(other), gpu_processor(gpu)}, ways.detour(other),
                                           std::max(ready, backing_.ready(b, other, here)), load);
    if (chunk.valid()) memory.chunk(chunk).ready = read;
    if (lent && context_.harvest != nullptr && context_.harvest->take_prefetched(b)) {
      ++context_.counters.chunk_prefetches_moved_on;
    }
    pages -= here;
  }
  return demanded;
}

Moved Residency::to_host(Work& work, BlockIndex b, const Migration& migration) {
  AddressSpace& space = context_.space;
  VaBlock& block = space.block(b);
  ProcessorPages& host = space.pages(b, kHost);
  // Plan.
  const PageMask pages = migration.pages();
  const PageMask absent = pages - host.resident;
  const PageMask unsaved = absent - block.discarded;
  const PageMask read_back = context_.host_memory.whole_units(pages) & host.resident;
  // Apply. The pages stay resident on GPUs until they are copied.
  for (unsigned gpu = 0; gpu < space.gpu_count(); ++gpu) {
    const PageMask& there = space.pages(b, gpu_processor(gpu)).resident;
    if (migration.duplicate) {
      block.read_duplicated |= absent & there;
      protect(context_, b, gpu, pages);
    } else {
      unmap(context_, b, gpu, absent | (there & pages));  // remote mappings of pages that the host already holds stay
    }
  }
  if (!migration.duplicate) block.read_duplicated -= pages;
  block.discarded -= migration.cause == TransferCause::kUser ? pages : absent;
  host.resident |= absent;
  context_.host_resident_pages += absent.count();
  // Charges, and lets one GPU after the other drop its copies.
  host_tier_.back(work, b, absent);
  if (block.kind == MemoryKind::kSystem) work.spend(context_.system.coherence.hmm_page_ns * absent.count());
  const Nanoseconds ready = host_tier_.admit(work.cpu, b, absent);
  work.await(ready);
  work.await(host_tier_.fetch(work.cpu, b, read_back));
  Moved moved;
  PageMask zeroed = absent;
  for (unsigned gpu = 0; gpu < space.gpu_count(); ++gpu) {
    const PageMask there = space.pages(b, gpu_processor(gpu)).resident;
    const PageMask copied = unsaved & zeroed & there;  // of several copies, the first
    if (!copied.empty()) {
      const policy::Route way = way_to_host(work, b, gpu, copied, migration);
      copies_.carry(work, b, {gpu_processor(gpu), kHost}, way, ready, migration.part(copied));
    }
    moved.copied |= copied.intersects(migration.demanded);
    zeroed -= there;
    if (!migration.duplicate) departures_.drop_copies(work, b, gpu, pages);
  }
  work.spend(context_.costs().host_zero_page_ns * zeroed.count());
  if (block.hints.accessed_by != 0 && !migration.staged) map_after_migration(context_, work, b, absent);
  return moved;
}

policy::Route Residency::way_to_host(Work& work, BlockIndex b, unsigned gpu, const PageMask& copied,
                                     const Migration& migration) {
  if (migration.staged || !asks_route(context_, gpu)) return {};
  return choose_route(context_, work, gpu, move_of(b, gpu_processor(gpu), kHost, copied, migration.cause_of(copied)));
}

}  // namespace uvmsim::driver
