// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/residency.h"

#include <algorithm>

#include "sim/common/check.h"
#include "sim/driver/harvest.h"
#include "sim/driver/remote_mappings.h"

namespace uvmsim::driver {

void Residency::to_gpu(Work& work, BlockIndex b, unsigned gpu, const Migration& migration) {
  AddressSpace& space = context_.space;
  VaBlock& block = space.block(b);
  const ProcessorId self = gpu_processor(gpu);
  ProcessorPages& mine = space.pages(b, self);
  ProcessorPages& host = space.pages(b, kHost);

  const PageMask on_host_before = routing_.asks(gpu) ? host.resident : PageMask{};
  const Ways ways = ways_from_gpus(work, b, gpu, migration);

  if (Harvest* harvest = context_.harvest; harvest != nullptr && harvest->holds(b) && harvest->where(b) == gpu) {
    harvest->adopt(b);
  }
  context_.host_memory.use(b, migration.pages());
  // First, because a short block may lose pages of its own to the evictions that this takes.
  back(work, b, gpu, migration.pages());
  const PageMask absent = migration.pages() - mine.resident;
  PageMask from_peers;  // a peer with a link is closer than the host
  for (unsigned other = 0; other < space.gpu_count(); ++other) {
    if (other != gpu && ways.by_links(other)) from_peers |= absent & space.pages(b, gpu_processor(other)).resident;
  }
  from_peers -= block.discarded;
  const PageMask copied = (absent & host.resident) - from_peers - block.discarded;
  const PageMask populated = absent - copied - from_peers;

  // The host loses its mappings of what moves, and the right to write what is duplicated. What was evicted before is
  // not mapped there: nothing to do.
  const config::DriverCosts& costs = context_.costs();
  ((migration.duplicate ? host.writable : host.mapped) & copied).for_each_run([&](unsigned, unsigned count) {
    work.spend(costs.unmap_host_run_ns + costs.unmap_host_page_ns * count);
  });
  // Pages in spare memory are mapped by no processor.
  const bool in_spare = context_.harvest != nullptr && context_.harvest->holds(b);
  if (!from_peers.empty() && !in_spare) {
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
      if (other != gpu) unmap_gpu(b, other, from_others);
    }
  }
  host.writable -= migration.pages();
  unmap_gpu(b, gpu, absent);  // remote mappings

  const Nanoseconds ready =
      std::max({chunk_ready(b, gpu, absent), host_tier_.fetch(work.cpu, b, copied), ways.on_host});
  const PageMask again = block.evicted & (copied | from_peers);
  if (!populated.empty()) {
    context_.counters.populated_pages += populated.count();
    work.spend(context_.costs().populate_page_ns * populated.count());
    work.await(ready);
  }
  // The nearest copies first; one engine does not wait for the other.
  if (!from_peers.empty()) copy_from_peers(work, b, gpu, ready, from_peers, migration, ways);
  if (!copied.empty()) copy_from_host(work, b, gpu, ready, copied, on_host_before, migration);
  if (!copied.empty() || !from_peers.empty()) work.spend(context_.costs().after_push_ns);
  context_.counters.reloaded_pages += again.count();
  block.evicted -= absent;

  if (migration.duplicate) {
    block.read_duplicated |= (absent & host.resident) | from_peers;
  } else {
    for (unsigned other = 0; other < space.gpu_count(); ++other) {
      if (other != gpu) drop_copies(work, b, other, migration.pages());
    }
    context_.host_resident_pages -= (host.resident & migration.pages()).count();
    host.resident -= migration.pages();
    host_tier_.leave(b, migration.pages(), work.done());
    block.read_duplicated -= migration.pages();
  }
  block.discarded -= migration.cause == TransferCause::kUser ? migration.pages() : absent;
  mine.resident |= absent;
  context_.prefetch_history.came(b, migration.prefetched & absent);
  if (block.hints.accessed_by != 0) map_after_migration(context_, *this, work, b, absent);
  context_.gpus[gpu].add_resident(block, absent.count());
  unpin(gpu);
  if (policy::Migrator* migrator = context_.gpus[gpu].migrator.get(); migrator != nullptr && !absent.empty()) {
    migrator->on_migrated(b, absent);
  }
  note_chunk_used(b, gpu);
  if (!absent.empty()) emit_residency(gpu, work.done());
  if (context_.accounts != nullptr) {
    const auto tell = [&](const PageMask& pages, ResidencyChange change) {
      tell_residency(*context_.accounts, gpu, b, pages, change, work.done());
    };
    tell(populated, ResidencyChange::kPopulated);
    tell((copied | from_peers) - again, ResidencyChange::kLoaded);
    tell(again, ResidencyChange::kReloaded);
  }
  serve_early_victims(work, b, gpu);
  if (context_.harvest != nullptr && context_.harvest->choice().pre_evict) keep_reserve(work, b, gpu);
}

// Their copies stay, read-only.
void Residency::protect_on_peers(BlockIndex b, unsigned gpu, const PageMask& pages) {
  for (unsigned other = 0; other < context_.space.gpu_count(); ++other) {
    if (other == gpu) continue;
    ProcessorPages& theirs = context_.space.pages(b, gpu_processor(other));
    if (!theirs.writable.intersects(pages)) continue;
    theirs.writable -= pages;
    context_.space.note_unmap(other);
  }
}

// Moves pages of other GPUs to this one; those whose way leads through the host are on the host afterwards.
Residency::Ways Residency::ways_from_gpus(Work& work, BlockIndex b, unsigned gpu, const Migration& migration) {
  AddressSpace& space = context_.space;
  const ProcessorId self = gpu_processor(gpu);
  const bool asks = routing_.asks(gpu);
  Ways ways;
  // What moves: where a link joins the two, of several copies the first.
  PageMask left = migration.pages() - space.pages(b, self).resident - space.block(b).discarded;
  for (unsigned other = 0; other < space.gpu_count(); ++other) {
    detours_[other] = {};
    if (other == gpu) continue;
    const bool joined = context_.topology.peer(other, gpu) != nullptr;
    if (!joined) ways.by_host |= std::uint32_t{1} << other;
    if (joined && !asks) continue;
    PageMask there = space.pages(b, gpu_processor(other)).resident & (joined ? left : migration.pages());
    if (there.empty()) continue;
    policy::Route way{policy::Route::Way::kHost, 0};
    if (const PageMask moved = there & left; asks && !moved.empty()) {
      way = routing_.ask(
          work, gpu,
          {.block = b,
           .from = gpu_processor(other),
           .to = self,
           .bytes = moved.count() * kBasePageBytes,
           .cause = migration.demanded.intersects(moved) ? move_cause(migration.cause) : policy::MoveCause::kPrefetch});
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
      detours_[other] = way;
    }
  }
  return ways;
}

// `asked`: of the pages, those that did not come to the host on the way.
void Residency::copy_from_host(Work& work, BlockIndex b, unsigned gpu, Nanoseconds ready, const PageMask& pages,
                               const PageMask& asked, const Migration& migration) {
  const ProcessorId self = gpu_processor(gpu);
  VaBlock& block = context_.space.block(b);
  policy::Route way;
  const PageMask free = pages & asked;
  if (migration.way != nullptr) {
    way = *migration.way;
  } else if (!free.empty()) {
    way = routing_.ask(
        work, gpu,
        {.block = b,
         .from = kHost,
         .to = self,
         .bytes = free.count() * kBasePageBytes,
         .cause = migration.demanded.intersects(free) ? move_cause(migration.cause) : policy::MoveCause::kPrefetch});
  }
  const auto bring = [&](const PageMask& part, const policy::Route& on) {
    if (part.empty()) return;
    for_each_stripe(on, part, [&](const policy::Route& stripe, const PageMask&) {
      const ProcessorId reader = is_detour(stripe) ? gpu_processor(stripe.gpu) : self;
      if ((block.dma_mapped & reader.bit()) != 0) return;
      block.dma_mapped |= reader.bit();
      work.spend(context_.costs().dma_map_chunk_ns);
    });
    carry(work, b, {kHost, self}, on, ready, migration.demanded & part, migration.prefetched & part, migration.cause);
  };
  const PageMask around = is_detour(way) ? free : PageMask{};
  bring(pages - around, {});
  bring(around, way);
}

// A push per GPU that holds some of the pages.
void Residency::copy_from_peers(Work& work, BlockIndex b, unsigned gpu, Nanoseconds ready, PageMask pages,
                                const Migration& migration, const Ways& ways) {
  for (unsigned other = 0; other < context_.space.gpu_count() && !pages.empty(); ++other) {
    if (other == gpu || !ways.by_links(other)) continue;
    const PageMask here = pages & context_.space.pages(b, gpu_processor(other)).resident;
    if (here.empty()) continue;
    // A lent chunk comes back in one piece, whichever of its pages are demanded, and is free when it has been read.
    GpuMemory& memory = context_.gpus[other].memory;
    const ChunkId chunk = memory.whole(b);
    const bool lent = chunk.valid() && memory.chunk(chunk).state == ChunkState::kForeign;
    const bool whole = lent && !migration.demanded.empty();
    const Nanoseconds read =
        carry(work, b, {gpu_processor(other), gpu_processor(gpu)}, detours_[other],
              std::max(ready, chunk_ready(b, other, here)), whole ? here : migration.demanded & here,
              whole ? PageMask{} : migration.prefetched & here, migration.cause);
    if (chunk.valid()) memory.chunk(chunk).ready = read;
    if (lent && context_.harvest->take_prefetched(b)) ++context_.counters.chunk_prefetches_moved_on;
    pages -= here;
  }
}

void Residency::to_host(Work& work, BlockIndex b, const Migration& migration) {
  AddressSpace& space = context_.space;
  VaBlock& block = space.block(b);
  ProcessorPages& host = space.pages(b, kHost);
  const PageMask absent = migration.pages() - host.resident;
  PageMask zeroed = absent;
  back_on_host(work, b, absent);
  const Nanoseconds ready = host_tier_.admit(work.cpu, b, absent);
  work.await(ready);
  work.await(host_tier_.fetch(work.cpu, b, context_.host_memory.whole_units(migration.pages()) & host.resident));
  for (unsigned gpu = 0; gpu < space.gpu_count(); ++gpu) {
    ProcessorPages& theirs = space.pages(b, gpu_processor(gpu));
    const PageMask copied = (zeroed & theirs.resident) - block.discarded;  // of several copies, the first
    // Remote mappings of pages that the host holds already stay.
    if (!migration.duplicate) unmap_gpu(b, gpu, absent | (theirs.resident & migration.pages()));
    zeroed -= theirs.resident;
    if (!copied.empty()) {
      policy::Route way;
      if (!migration.staged && routing_.asks(gpu)) {
        way = routing_.ask(work, gpu,
                           {.block = b,
                            .from = gpu_processor(gpu),
                            .to = kHost,
                            .bytes = copied.count() * kBasePageBytes,
                            .cause = migration.demanded.intersects(copied) ? move_cause(migration.cause)
                                                                           : policy::MoveCause::kPrefetch});
      }
      carry(work, b, {gpu_processor(gpu), kHost}, way, ready, migration.demanded & copied,
            migration.prefetched & copied, migration.cause);
    }
    if (migration.duplicate) {
      block.read_duplicated |= absent & theirs.resident;
      if (theirs.writable.intersects(migration.pages())) space.note_unmap(gpu);
      theirs.writable -= migration.pages();
    } else {
      drop_copies(work, b, gpu, migration.pages());
    }
  }
  work.spend(context_.costs().host_zero_page_ns * zeroed.count());
  if (!migration.duplicate) block.read_duplicated -= migration.pages();
  block.discarded -= migration.cause == TransferCause::kUser ? migration.pages() : absent;
  host.resident |= absent;
  context_.host_resident_pages += absent.count();
  if (block.hints.accessed_by != 0 && !migration.staged) map_after_migration(context_, *this, work, b, absent);
}

// The GPU's copies are void. Its mappings of them are gone already.
void Residency::drop_copies(Work& work, BlockIndex b, unsigned gpu, const PageMask& pages) {
  ProcessorPages& theirs = context_.space.pages(b, gpu_processor(gpu));
  const PageMask gone = theirs.resident & pages;
  if (gone.empty()) return;
  context_.access_bits.take(b, gone);
  context_.prefetch_history.left(b, gone);
  theirs.resident -= gone;
  context_.gpus[gpu].drop_resident(context_.space.block(b), gone.count());
  tell_if_emptied(b, gpu, gone);
  emit_residency(gpu, work.done());
  if (context_.accounts != nullptr) {
    tell_residency(*context_.accounts, gpu, b, gone, ResidencyChange::kMoved, work.done());
  }
}

void Residency::map_local(Work& work, BlockIndex b, unsigned gpu, const PageMask& pages, const PageMask& writable) {
  ProcessorPages& mine = context_.space.pages(b, gpu_processor(gpu));
  UVMSIM_CHECK(mine.resident.contains(pages), "block {}: mapping pages that are not resident", b.value);
  work.spend(context_.costs().map_block_ns + context_.costs().map_page_ns * (pages - mine.mapped).count());
  context_.gpus[gpu].page_tables.push_until(work.pushed);
  if (!((writable & pages & mine.mapped) - mine.writable).empty()) work.spend(context_.costs().protect_block_ns);
  mine.mapped |= pages;
  mine.writable |= writable & pages;
  context_.host_memory.drop_saved(b, writable & pages);
}

void Residency::map_remote(Work& work, BlockIndex b, unsigned gpu, const PageMask& pages, const PageMask& writable) {
  ProcessorPages& mine = context_.space.pages(b, gpu_processor(gpu));
  const PageMask fresh = pages - mine.mapped;
  mine.mapped |= pages;
  mine.writable |= writable & pages;
  context_.host_memory.drop_saved(b, writable & pages);
  if (fresh.empty()) return;
  work.spend(context_.costs().remote_map_ns);
  fresh.for_each_run([&](unsigned first, unsigned count) {
    ++context_.counters.remote_maps;
    context_.counters.remote_map_bytes += count * kBasePageBytes;
    if (context_.events != nullptr) {
      context_.events->on(
          RemoteMapEvent{static_cast<std::int32_t>(gpu), work.cpu, virtual_address(b, first), count * kBasePageBytes});
    }
  });
}

void unmap_from_gpu(DriverContext& context, BlockIndex b, unsigned gpu, const PageMask& pages) {
  ProcessorPages& mine = context.space.pages(b, gpu_processor(gpu));
  if (!mine.mapped.intersects(pages)) return;
  mine.mapped -= pages;
  mine.writable -= pages;
  context.space.note_unmap(gpu);
  context.gpus[gpu].mmu.invalidate_pages(b, pages);
}

std::uint64_t Residency::release(BlockIndex b) {
  AddressSpace& space = context_.space;
  std::uint64_t populated = 0;
  for (unsigned gpu = 0; gpu < space.gpu_count(); ++gpu) {
    ProcessorPages& mine = space.pages(b, gpu_processor(gpu));
    unmap_gpu(b, gpu, PageMask::all());
    const unsigned n = mine.resident.count();
    populated += n;
    context_.gpus[gpu].drop_resident(space.block(b), n);
    mine.resident.clear();
    if (PlanHooks* plan = context_.gpus[gpu].plan; plan != nullptr) plan->on_released(b);
    if (policy::Migrator* migrator = context_.gpus[gpu].migrator.get()) migrator->on_freed(b);
    release_backing(b, gpu);
  }
  pin(b, false);
  ProcessorPages& host = space.pages(b, kHost);
  context_.host_resident_pages -= host.resident.count();
  host = ProcessorPages{};
  host_tier_.drop(b, PageMask::all());
  context_.access_bits.take(b, PageMask::all());
  context_.prefetch_history.left(b, PageMask::all());
  context_.prefetcher.on_freed(b);
  return populated;
}

void Residency::discard(BlockIndex b, const PageMask& pages, bool unmap) {
  AddressSpace& space = context_.space;
  VaBlock& block = space.block(b);
  const PageMask held = pages & space.resident_anywhere(b);
  if (held.empty()) return;
  context_.counters.discarded_pages += held.count();
  block.discarded |= held;
  if (unmap) {
    ProcessorPages& host = space.pages(b, kHost);
    context_.host_resident_pages -= (host.resident & held).count();
    host.resident -= held;
    host.mapped -= held;
    host.writable -= held;
    block.read_duplicated -= held;
    host_tier_.drop(b, held);
  }
  for (unsigned gpu = 0; gpu < space.gpu_count(); ++gpu) {
    ProcessorPages& mine = space.pages(b, gpu_processor(gpu));
    const PageMask here = mine.resident & held;
    if (unmap) {
      unmap_gpu(b, gpu, held);
      mine.resident -= held;
      context_.gpus[gpu].drop_resident(space.block(b), here.count());
      if (!here.empty()) tell_if_emptied(b, gpu, here);
    } else {
      tell_if_discarded(b, gpu, here);
    }
  }
}

void Residency::back_on_host(Work& work, BlockIndex b, const PageMask& pages) {
  VaBlock& block = context_.space.block(b);
  if (block.host_backed.contains(pages)) return;
  // The driver tries 2 MB first: one allocation backs the whole block (>= 530).
  block.host_backed = context_.system.host.large_pages ? block.extent() : block.host_backed | pages;
  work.spend(context_.costs().host_allocate_chunk_ns);
}

// A copy on its way, stripe by stripe, hop by hop. Returns when the source has been read.
Nanoseconds Residency::carry(Work& work, BlockIndex b, const Path& path, const policy::Route& way, Nanoseconds start,
                             const PageMask& demanded, const PageMask& prefetched, TransferCause cause) {
  Nanoseconds read{};
  for_each_stripe(way, demanded | prefetched, [&](const policy::Route& stripe, const PageMask& pages) {
    const bool detour = is_detour(stripe);
    const ProcessorId hop = detour ? gpu_processor(stripe.gpu) : path.to;
    copy(work, b, {path.from, hop}, start, demanded & pages, prefetched & pages, cause);
    const Nanoseconds end = runs_.back().end;
    read = std::max(read, end);
    if (detour) copy(work, b, {hop, path.to}, end, demanded & pages, prefetched & pages, cause);
  });
  return read;
}

// One push of a copy: a run per maximal stretch of contiguous pages with one cause.
void Residency::copy(Work& work, BlockIndex b, const Path& path, Nanoseconds start, const PageMask& demanded,
                     const PageMask& prefetched, TransferCause cause) {
  const TransferDirection direction = path.from.is_host() ? TransferDirection::kHostToDevice
                                      : path.to.is_host() ? TransferDirection::kDeviceToHost
                                                          : TransferDirection::kDeviceToDevice;
  runs_.clear();
  (demanded | prefetched).for_each_run([&](unsigned first, unsigned count) {
    for (unsigned page = first, end = first + count; page < end;) {
      const bool is_demanded = demanded.test(page);
      const unsigned stop = std::min(end, is_demanded ? demanded.next_clear(page) : prefetched.next_clear(page));
      TransferEvent run{};
      run.device = static_cast<std::int32_t>((path.to.is_gpu() ? path.to : path.from).gpu());
      run.source = path.from.is_gpu() ? static_cast<std::int32_t>(path.from.gpu()) : -1;
      run.direction = direction;
      run.cause = is_demanded ? cause : TransferCause::kPrefetch;
      run.address = virtual_address(b, page);
      run.bytes = (stop - page) * kBasePageBytes;
      runs_.push_back(run);
      page = stop;
    }
  });
  if (runs_.empty()) return;
  link::CopyEngine& engine = context_.topology.engine(path.from, path.to);
  const config::DriverCosts& costs = context_.costs();
  work.spend(costs.push_ns + costs.push_run_ns * runs_.size());
  const auto ns = [](std::uint64_t n) { return Nanoseconds(static_cast<std::int64_t>(n)); };
  const Nanoseconds free_at = engine.pushes() == 0 ? Nanoseconds{} : engine.busy_until() + ns(costs.push_gap_ns);
  const Nanoseconds busy_before = engine.busy_time();
  engine.begin_push(std::max({start, work.cpu + ns(costs.push_to_engine_ns), free_at}));
  // Without 2 MB host chunks the driver issues one DMA method per page (<= 525).
  const bool pieces = direction != TransferDirection::kDeviceToDevice && !context_.system.host.large_pages;
  for (TransferEvent& run : runs_) {
    const std::uint64_t step = pieces ? kBasePageBytes : run.bytes;
    for (std::uint64_t done = 0; done < run.bytes; done += step) {
      const link::RunTimes times = engine.run(step);
      if (done == 0) run.start = times.start;
      run.end = times.end;
    }
    count_transfer(direction, run.cause, run.bytes);
    if (context_.events != nullptr) context_.events->on(run);
  }
  const auto busy = static_cast<std::uint64_t>((engine.busy_time() - busy_before).value);
  Counters& counters = context_.counters;
  (direction == TransferDirection::kHostToDevice   ? counters.htod_busy_ns
   : direction == TransferDirection::kDeviceToHost ? counters.dtoh_busy_ns
                                                   : counters.dtod_busy_ns) += busy;
  work.await(runs_.back().end + ns(costs.copies_done_ns));
}

void Residency::count_transfer(TransferDirection direction, TransferCause cause, std::uint64_t bytes) {
  Counters& c = context_.counters;
  const auto add = [bytes](std::uint64_t& sum, std::uint64_t& transactions) {
    sum += bytes;
    ++transactions;
  };
  if (direction == TransferDirection::kHostToDevice) {
    switch (cause) {
      case TransferCause::kUser:
        return add(c.htod_user_bytes, c.htod_user_transactions);
      case TransferCause::kPrefetch:
        return add(c.htod_prefetch_bytes, c.htod_prefetch_transactions);
      case TransferCause::kAccessCounter:
        return add(c.htod_counter_bytes, c.htod_counter_transactions);
      case TransferCause::kFault:
      case TransferCause::kEvict:
        return add(c.htod_fault_bytes, c.htod_fault_transactions);
    }
  }
  if (direction == TransferDirection::kDeviceToDevice) {
    switch (cause) {
      case TransferCause::kUser:
        return add(c.dtod_user_bytes, c.dtod_user_transactions);
      case TransferCause::kPrefetch:
        return add(c.dtod_prefetch_bytes, c.dtod_prefetch_transactions);
      case TransferCause::kEvict:
        return add(c.dtod_evict_bytes, c.dtod_evict_transactions);
      case TransferCause::kFault:
      case TransferCause::kAccessCounter:
        return add(c.dtod_fault_bytes, c.dtod_fault_transactions);
    }
  }
  switch (cause) {
    case TransferCause::kUser:
      return add(c.dtoh_user_bytes, c.dtoh_user_transactions);
    case TransferCause::kPrefetch:
      return add(c.dtoh_prefetch_bytes, c.dtoh_prefetch_transactions);
    case TransferCause::kEvict:
      return add(c.dtoh_evict_bytes, c.dtoh_evict_transactions);
    case TransferCause::kFault:
    case TransferCause::kAccessCounter:
      return add(c.dtoh_fault_bytes, c.dtoh_fault_transactions);
  }
}

void Residency::emit_residency(unsigned gpu, Nanoseconds at) {
  if (context_.events == nullptr) return;
  const GpuState& state = context_.gpus[gpu];
  const std::uint64_t used = state.memory.chunk_count() - state.memory.free_chunks();
  context_.events->on(
      ResidencyEvent{static_cast<std::int32_t>(gpu), at, state.resident_pages * kBasePageBytes, used * kBlockBytes});
}

}  // namespace uvmsim::driver
