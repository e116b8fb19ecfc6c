// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/departures.h"

#include <algorithm>

#include "sim/driver/harvest_moves.h"
#include "sim/driver/mappings.h"
#include "sim/driver/routing.h"

namespace uvmsim::driver {

// Returns the route of a victim: to the place that holds part of it already, else as the route policy says.
policy::Route Departures::way_out(Work& work, BlockIndex b, unsigned gpu, const PageMask& copied, bool whole) {
  const VaBlock& block = context_.space.block(b);
  const Harvest* const harvest = context_.harvest;
  const bool may_stay =
      whole && harvest != nullptr && harvest->choice().victims && !block.hints.any() && block.read_duplicated.empty();
  if (const auto way = may_stay ? harvest->way_out(b, gpu) : std::nullopt) return *way;
  policy::Move move = move_of(b, gpu_processor(gpu), kHost, copied, policy::MoveCause::kEvict);
  move.may_stay = may_stay;
  return choose_route(context_, work, gpu, move);
}

PageMask Departures::push_out(Work& work, BlockIndex b, unsigned gpu, const PageMask& pages, bool whole, Moved& moved) {
  VaBlock& block = context_.space.block(b);
  ProcessorPages& mine = context_.space.pages(b, gpu_processor(gpu));
  ProcessorPages& host = context_.space.pages(b, kHost);
  // Plan.
  const PageMask gone = mine.resident & pages;
  const PageMask copied = gone - host.resident - block.discarded;
  const PageMask duplicated = gone & block.read_duplicated;
  moved.evicted_pages += gone.count();
  const policy::Route way = copied.empty() ? policy::Route{} : way_out(work, b, gpu, copied, whole);
  if (way.way == policy::Route::Way::kSpare) {
    context_.harvest_moves->take(work, b, gpu, way.gpu, gone, copied);
    return PageMask::all();  // it left as one piece; single pages are not counted
  }
  // Apply.
  const Nanoseconds unmapped = unmap_victim(work, b, gpu, gone);
  host.resident |= copied;
  context_.owner(b).host_resident_pages += copied.count();
  block.read_duplicated -= gone;
  // Charge.
  if (!copied.empty()) {
    host_tier_.back(work, b, copied);
    work.spend(context_.costs().evict_page_ns * copied.count());
    const Nanoseconds ready = std::max(unmapped, host_tier_.admit(work.cpu, b, copied));
    copies_.carry(work, b, {gpu_processor(gpu), kHost}, way, ready, {copied, {}, TransferCause::kEvict});
  }
  // Announce. The host becomes the only holder, also of pages that were duplicated on other GPUs.
  for (unsigned other = 0; other < context_.space.gpu_count() && !duplicated.empty(); ++other) {
    if (other == gpu) continue;
    unmap(context_, b, other, duplicated);
    drop_copies(work, b, other, duplicated);
  }
  leave(work, b, gpu, gone);
  map_after_eviction(context_, b, gpu, gone, work.cpu);
  return copied;
}

Nanoseconds Departures::unmap_victim(const Work& work, BlockIndex b, unsigned gpu, const PageMask& gone) {
  const config::DriverCosts& costs = context_.costs();
  const bool mapped = context_.space.pages(b, gpu_processor(gpu)).mapped.intersects(gone);
  for (unsigned holder = 0; holder < context_.space.gpu_count(); ++holder) unmap(context_, b, holder, gone);
  if (!mapped) return work.cpu;
  const auto ns = [](std::uint64_t n) { return Nanoseconds(static_cast<std::int64_t>(n)); };
  return context_.gpus[gpu].page_tables.push(work.cpu + ns(costs.push_to_engine_ns), ns(costs.unmap_gpu_ns));
}

void Departures::leave(Work& work, BlockIndex b, unsigned gpu, const PageMask& gone) {
  context_.space.block(b).evicted |= gone;
  context_.space.pages(b, gpu_processor(gpu)).resident -= gone;
  GpuState& state = context_.gpus[gpu];
  state.drop_resident(context_.space.block(b), gone.count());
  state.oversubscribed = true;
  DriverContext& owner = context_.owner(b);
  if (owner.accounts != nullptr) tell_residency(*owner.accounts, gpu, b, gone, ResidencyChange::kEvicted, work.cpu);
  owner.prefetcher.on_evicted(b, gone, owner.access_bits.take(b, gone));
  owner.prefetch_history.left(b, gone);
}

void Departures::drop_copies(Work& work, BlockIndex b, unsigned gpu, const PageMask& pages) {
  ProcessorPages& theirs = context_.space.pages(b, gpu_processor(gpu));
  const PageMask gone = theirs.resident & pages;
  if (gone.empty()) return;
  context_.access_bits.take(b, gone);
  context_.prefetch_history.left(b, gone);
  theirs.resident -= gone;
  context_.gpus[gpu].drop_resident(context_.space.block(b), gone.count());
  backing_.emptied(b, gpu, gone);
  emit_residency(context_, gpu, work.done());
  if (context_.accounts != nullptr) {
    tell_residency(*context_.accounts, gpu, b, gone, ResidencyChange::kMoved, work.done());
  }
}

std::uint64_t Departures::release(BlockIndex b) {
  AddressSpace& space = context_.space;
  std::uint64_t populated = 0;
  for (unsigned gpu = 0; gpu < space.gpu_count(); ++gpu) {
    ProcessorPages& mine = space.pages(b, gpu_processor(gpu));
    unmap(context_, b, gpu, PageMask::all());
    const unsigned n = mine.resident.count();
    populated += n;
    context_.gpus[gpu].drop_resident(space.block(b), n);
    mine.resident.clear();
    if (PlanHooks* plan = context_.gpus[gpu].plan; plan != nullptr) plan->on_released(b);
    if (policy::Migrator* migrator = context_.gpus[gpu].migrator.get()) migrator->on_freed(b);
    backing_.release(b, gpu);
  }
  space.pin(b, false);
  ProcessorPages& host = space.pages(b, kHost);
  context_.host_resident_pages -= host.resident.count();
  host = ProcessorPages{};
  host_tier_.drop(b, PageMask::all());
  context_.access_bits.take(b, PageMask::all());
  context_.prefetch_history.left(b, PageMask::all());
  context_.prefetcher.on_freed(b);
  return populated;
}

void Departures::discard(BlockIndex b, const PageMask& pages, bool drop) {
  AddressSpace& space = context_.space;
  VaBlock& block = space.block(b);
  const PageMask held = pages & space.resident_anywhere(b);
  if (held.empty()) return;
  context_.counters.discarded_pages += held.count();
  block.discarded |= held;
  if (drop) {
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
    if (drop) {
      unmap(context_, b, gpu, held);
      mine.resident -= held;
      context_.gpus[gpu].drop_resident(space.block(b), here.count());
      if (!here.empty()) backing_.emptied(b, gpu, here);
    } else {
      backing_.discarded(b, gpu, here);
    }
  }
}

void Departures::drop_contents(Nanoseconds now, unsigned gpu, BlockIndex b) {
  if (context_.accounts != nullptr) {
    const PageMask& gone = context_.space.pages(b, gpu_processor(gpu)).resident;
    tell_residency(*context_.accounts, gpu, b, gone, ResidencyChange::kDropped, now);
  }
  discard(b, context_.space.block(b).extent(), /*drop=*/true);
}

void emit_residency(const DriverContext& context, unsigned gpu, Nanoseconds at) {
  if (context.events == nullptr) return;
  const GpuState& state = context.gpus[gpu];
  const std::uint64_t used = state.memory.chunk_count() - state.memory.free_chunks();
  context.events->on(
      ResidencyEvent{static_cast<std::int32_t>(gpu), at, state.resident_pages * kBasePageBytes, used * kBlockBytes});
}

}  // namespace uvmsim::driver
