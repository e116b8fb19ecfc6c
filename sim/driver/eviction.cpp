// SPDX-License-Identifier: Apache-2.0
// GPU memory behind a block's pages: a free chunk if there is one, else the eviction policy's victim.
#include <algorithm>

#include "sim/common/check.h"
#include "sim/common/error.h"
#include "sim/driver/harvest.h"
#include "sim/driver/remote_mappings.h"
#include "sim/driver/residency.h"

namespace uvmsim::driver {

namespace {

const char* kind_of_chunk(const GpuMemory& memory) { return memory.small_chunks() ? "64 KB chunk" : "root chunk"; }

PageMask unit_pages(unsigned unit) { return PageMask::range(unit * kPagesPerBigPage, kPagesPerBigPage); }

}  // namespace

// What an evictor knows the block's memory by; `unit` matters with small chunks only.
policy::ContentIndex Residency::content(BlockIndex b, unsigned unit, unsigned gpu) const {
  const bool small = context_.gpus[gpu].memory.small_chunks();
  return policy::ContentIndex(small ? b.value * kBigPagesPerBlock + unit : b.value);
}

bool Residency::spared(BlockIndex b) const {
  return (early_ && b == served_) || context_.space.block(b).hints.pinned ||
         std::binary_search(spared_.begin(), spared_.end(), b);
}

bool Residency::evictable(ChunkId c) const {
  const GpuMemory& memory = context_.gpus[gpu_].memory;
  if (c.value >= memory.evictor_chunks()) return false;
  if (memory.small_chunks()) {
    const SlotId slot = GpuMemory::slot_of(c);
    return memory.used(slot) && !memory.pinned(slot) && !spared(memory.owner(slot).block);
  }
  if (memory.chunk(c).state != ChunkState::kAllocated) return false;
  if (!early_ && spared_.empty() && context_.space.pinned_blocks() == 0) return true;
  bool serves = false;
  memory.for_each_owner(c, [&](BlockIndex b, const PageMask&) { serves = serves || spared(b); });
  return !serves;
}

bool Residency::has_room(BlockIndex b, unsigned gpu, const PageMask& pages) {
  const GpuMemory& memory = context_.gpus[gpu].memory;
  std::uint32_t missing = 0;
  if (!memory.small_chunks() && context_.space.block(b).full_size()) {
    missing = memory.whole(b).valid() ? 0 : 1;
  } else {
    for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
      missing += pages.intersects(unit_pages(unit)) && !memory.slot(b, unit).valid() ? 1 : 0;
    }
    // A short block needs one root chunk at most.
    if (!memory.small_chunks()) missing = std::min(missing, 1u);
  }
  std::uint32_t room = memory.free_evictor_chunks();
  gpu_ = gpu;
  early_ = false;
  for (std::uint32_t c = 0; c < memory.evictor_chunks() && room < missing; ++c) {
    const bool own = memory.small_chunks() && memory.used(GpuMemory::slot_of(ChunkId{c})) &&
                     memory.owner(GpuMemory::slot_of(ChunkId{c})).block == b;
    room += !own && evictable(ChunkId{c}) ? 1 : 0;
  }
  return room >= missing;
}

policy::ChunkView Residency::view(ChunkId c) const {
  const GpuMemory& memory = context_.gpus[gpu_].memory;
  const auto resident = [&](BlockIndex b) -> const PageMask& {
    return context_.space.pages(b, gpu_processor(gpu_)).resident;
  };
  const auto unsaved = [&](BlockIndex b, const PageMask& part) {
    return (resident(b) & part) - context_.space.pages(b, kHost).resident - context_.space.block(b).discarded;
  };
  if (memory.small_chunks()) {
    const auto [block, unit] = memory.owner(GpuMemory::slot_of(c));
    return {content(block, unit, gpu_), (resident(block) & unit_pages(unit)).count(),
            unsaved(block, unit_pages(unit)).count()};
  }
  policy::ChunkView view{policy::ContentIndex(RootChunk::kNoBlock), 0, 0};
  memory.for_each_owner(c, [&](BlockIndex b, const PageMask& part) {
    if (view.content.value == RootChunk::kNoBlock) view.content = policy::ContentIndex(b.value);
    view.resident_pages += (resident(b) & part).count();
    view.unsaved_pages += unsaved(b, part).count();
  });
  return view;
}

std::uint32_t Residency::free_chunks() const {
  return context_.gpus[gpu_].memory.free_evictor_chunks() + static_cast<std::uint32_t>(leaving_.size());
}

// The victim is pinned and no longer the evictor's.
ChunkId Residency::take(unsigned gpu, ChunkId victim) {
  GpuState& state = context_.gpus[gpu];
  if (state.memory.small_chunks()) {
    state.memory.pin(GpuMemory::slot_of(victim));
  } else {
    state.memory.chunk(victim).state = ChunkState::kPinned;
  }
  state.evictor->on_released(victim);
  return victim;
}

// No victim is an answer only where there is none: what would go instead is another policy's choice.
void Residency::refuse_no_victim(const GpuMemory& memory) const {
  for (std::uint32_t c = 0; c < memory.evictor_chunks(); ++c) {
    if (!evictable(ChunkId{c})) continue;
    const std::uint64_t block = memory.small_chunks() ? incoming_.value / kBigPagesPerBlock : incoming_.value;
    throw ModelError(fmt::format("{} returned no victim for block {}, although {} {} can be evicted",
                                 context_.evict_label, block, kind_of_chunk(memory), c));
  }
}

// Asks the plan, then the policy, for `incoming`, or the policy alone early, and checks its answer. Returns the victim,
// taken; invalid when there is none.
ChunkId Residency::select_victim(Work& work, unsigned gpu, policy::ContentIndex incoming, bool early) {
  GpuState& state = context_.gpus[gpu];
  gpu_ = gpu;
  now_ = work.cpu;
  incoming_ = incoming;
  early_ = early;
  if (state.plan != nullptr && !early) {
    const auto planned = state.plan->victim(work);
    if (planned && evictable(state.memory.whole(planned->block))) {
      if (planned->drop) drop_contents(work.cpu, gpu, planned->block);
      return take(gpu, state.memory.whole(planned->block));
    }
  }
  ChunkId victim = early ? state.evictor->select_early_victim(*this) : state.evictor->select_victim(*this);
  if (early && !victim.valid()) return {};
  work.cpu += context_.evict_decision_cost;
  if (!victim.valid()) {
    refuse_no_victim(state.memory);
    return {};
  }
  if (!evictable(victim)) {
    throw ModelError(fmt::format("{} chose {} {}, which is free, pinned or out of range", context_.evict_label,
                                 kind_of_chunk(state.memory), victim.value));
  }
  return take(gpu, victim);
}

// The pages leave the GPU; those without another copy are copied to the host, or into spare memory of a peer where
// the `whole` block goes. Returns which.
PageMask Residency::push_out(Work& work, BlockIndex b, unsigned gpu, const PageMask& pages, bool whole) {
  VaBlock& block = context_.space.block(b);
  ProcessorPages& mine = context_.space.pages(b, gpu_processor(gpu));
  ProcessorPages& host = context_.space.pages(b, kHost);
  const PageMask gone = mine.resident & pages;
  const PageMask copied = gone - host.resident - block.discarded;
  policy::Route way;
  if (!copied.empty()) {
    const bool may_stay = whole && may_leave_to_spare(b);
    if (may_stay && context_.harvest->holds(b)) {
      const unsigned spare = context_.harvest->where(b);
      if (spare != gpu && context_.topology.peer(gpu, spare) != nullptr) way = {policy::Route::Way::kSpare, spare};
    } else {
      way = routing_.ask(work, gpu,
                         {.block = b,
                          .from = gpu_processor(gpu),
                          .to = kHost,
                          .bytes = copied.count() * kBasePageBytes,
                          .cause = policy::MoveCause::kEvict,
                          .may_stay = may_stay});
    }
    if (way.way == policy::Route::Way::kSpare) {
      evict_to_spare(work, gpu, b, way.gpu, gone, copied);
      return PageMask::all();  // counted as one piece
    }
  }
  const Nanoseconds unmapped = unmap_victim(work, b, gpu, gone);
  if (!copied.empty()) {
    back_on_host(work, b, copied);
    work.spend(context_.costs().evict_page_ns * copied.count());
    const Nanoseconds ready = std::max(unmapped, host_tier_.admit(work.cpu, b, copied));
    carry(work, b, {gpu_processor(gpu), kHost}, way, ready, copied, PageMask{}, TransferCause::kEvict);
    host.resident |= copied;
    context_.owner(b).host_resident_pages += copied.count();
  }
  // The host becomes the only holder, also of duplicated pages.
  const PageMask duplicated = gone & block.read_duplicated;
  for (unsigned other = 0; other < context_.space.gpu_count() && !duplicated.empty(); ++other) {
    if (other == gpu) continue;
    unmap_gpu(b, other, duplicated);
    drop_copies(work, b, other, duplicated);
  }
  block.read_duplicated -= gone;
  leave_evicted(work, b, gpu, gone);
  map_after_eviction(context_, *this, b, gpu, gone, work.cpu);
  return copied;
}

// Unmaps the pages everywhere. Returns when the GPU's TLBs have dropped them, so that they can be copied.
Nanoseconds Residency::unmap_victim(const Work& work, BlockIndex b, unsigned gpu, const PageMask& gone) {
  const config::DriverCosts& costs = context_.costs();
  const bool mapped = context_.space.pages(b, gpu_processor(gpu)).mapped.intersects(gone);
  for (unsigned holder = 0; holder < context_.space.gpu_count(); ++holder) unmap_gpu(b, holder, gone);
  if (!mapped) return work.cpu;
  const auto ns = [](std::uint64_t n) { return Nanoseconds(static_cast<std::int64_t>(n)); };
  return context_.gpus[gpu].page_tables.push(work.cpu + ns(costs.push_to_engine_ns), ns(costs.unmap_gpu_ns));
}

// The pages, unmapped and copied to wherever they go, are the GPU's no more.
void Residency::leave_evicted(Work& work, BlockIndex b, unsigned gpu, const PageMask& gone) {
  context_.space.block(b).evicted |= gone;
  context_.space.pages(b, gpu_processor(gpu)).resident -= gone;
  GpuState& state = context_.gpus[gpu];
  state.drop_resident(context_.space.block(b), gone.count());
  state.oversubscribed = true;
  DriverContext& owner = context_.owner(b);
  if (owner.accounts != nullptr) {
    tell_residency(*owner.accounts, gpu, b, gone, ResidencyChange::kEvicted, work.cpu);
  }
  owner.prefetcher.on_evicted(b, gone, owner.access_bits.take(b, gone));
  owner.prefetch_history.left(b, gone);
}

void Residency::count_eviction(Work& work, unsigned gpu, std::uint64_t address, std::uint64_t copied_bytes) {
  ++context_.counters.evictions;
  if (copied_bytes == 0) ++context_.counters.evictions_without_copy;
  if (!context_.evicted_from.empty()) {
    ++context_.evicted_from[context_.space.block(BlockIndex(address / kBlockBytes)).region];
  }
  if (context_.events != nullptr) {
    context_.events->on(EvictionEvent{static_cast<std::int32_t>(gpu), work.cpu, address, copied_bytes});
  }
}

// Empties a root chunk that was taken; it stays pinned.
void Residency::empty_root(Work& work, unsigned gpu, ChunkId victim) {
  GpuMemory& memory = context_.gpus[gpu].memory;
  PlanHooks* plan = context_.gpus[gpu].plan;
  RootChunk& root = memory.chunk(victim);
  work.spend(context_.costs().evict_chunk_ns);
  std::uint64_t copied_bytes = 0;
  std::uint64_t first_block = RootChunk::kNoBlock;
  const Nanoseconds before = work.pushed;
  if (context_.harvest != nullptr) context_.harvest->note_eviction(gpu);
  memory.for_each_owner(victim, [&](BlockIndex b, const PageMask& part) {
    if (first_block == RootChunk::kNoBlock) first_block = b.value;
    if (plan != nullptr) plan->on_released(b);
    copied_bytes += push_out(work, b, gpu, part, !root.split).count() * kBasePageBytes;
  });
  if (root.split) {
    const std::uint32_t used = root.used_slots;
    for (unsigned s = 0; s < kBigPagesPerBlock; ++s) {
      if ((used >> s & 1) == 0) continue;
      const auto [block, unit] = memory.owner({victim.value, static_cast<std::uint8_t>(s)});
      memory.unbind_slot(block, unit);
    }
    memory.unsplit(victim);
  } else {
    memory.unbind_whole(BlockIndex(root.block));
  }
  root.ready = copied_bytes == 0 ? work.cpu : std::max(work.pushed, before);
  count_eviction(work, gpu, virtual_address(BlockIndex(first_block), 0), copied_bytes);
}

// Empties and frees the small chunks that are leaving. Those of one block that follow one another are unmapped and
// copied together, at the cost of one eviction.
void Residency::empty_small(Work& work, unsigned gpu) {
  GpuMemory& memory = context_.gpus[gpu].memory;
  for (std::size_t next = 0; next < leaving_.size();) {
    const BlockIndex block = memory.owner(GpuMemory::slot_of(leaving_[next])).block;
    PageMask pages;
    const std::size_t first = next;
    for (; next < leaving_.size(); ++next) {
      const auto [owner, unit] = memory.owner(GpuMemory::slot_of(leaving_[next]));
      if (owner != block) break;
      pages |= unit_pages(unit);
    }
    work.spend(context_.costs().evict_chunk_ns);
    const PageMask copied = push_out(work, block, gpu, pages, false);
    const Nanoseconds ready = copied.empty() ? work.cpu : work.pushed;
    for (std::size_t i = first; i < next; ++i) {
      const SlotId slot = GpuMemory::slot_of(leaving_[i]);
      RootChunk& root = memory.chunk(ChunkId{slot.chunk});
      root.ready = std::max(root.ready, ready);
      const unsigned unit = memory.owner(slot).unit;
      const ChunkId emptied = memory.unbind_slot(block, unit);
      if (emptied.valid()) memory.release(emptied);
      count_eviction(work, gpu, virtual_address(block, unit * kPagesPerBigPage),
                     (copied & unit_pages(unit)).count() * kBasePageBytes);
    }
  }
  leaving_.clear();
}

// Early victims, for which no allocation waits: the driver's thread starts them now and does not wait for the copies.
void Residency::serve_early_victims(Work& work, BlockIndex served, unsigned gpu) {
  served_ = served;
  Work background(work.cpu);
  GpuMemory& memory = context_.gpus[gpu].memory;
  for (;;) {
    const ChunkId victim = select_victim(background, gpu, content(served, 0, gpu), true);
    if (!victim.valid()) break;
    if (memory.small_chunks()) {
      leaving_.push_back(victim);
    } else {
      empty_root(background, gpu, victim);
      memory.release(victim);
    }
  }
  empty_small(background, gpu);
  work.cpu = background.cpu;
}

void Residency::evict_early(Work& work, unsigned gpu, BlockIndex b, bool drop) {
  GpuMemory& memory = context_.gpus[gpu].memory;
  if (drop) drop_contents(work.cpu, gpu, b);
  const ChunkId chunk = take(gpu, memory.whole(b));
  empty_root(work, gpu, chunk);
  memory.release(chunk, GpuMemory::Reuse::kLast);
  ++context_.counters.pre_evictions;
}

void Residency::drop_contents(Nanoseconds now, unsigned gpu, BlockIndex b) {
  if (context_.accounts != nullptr) {
    const PageMask& gone = context_.space.pages(b, gpu_processor(gpu)).resident;
    tell_residency(*context_.accounts, gpu, b, gone, ResidencyChange::kDropped, now);
  }
  discard(b, context_.space.block(b).extent(), /*unmap=*/true);
}

void Residency::tell_allocated(unsigned gpu, ChunkId chunk, policy::ContentIndex content, BlockIndex b) {
  policy::Evictor& evictor = *context_.gpus[gpu].evictor;
  evictor.on_allocated(chunk, content);
  if (!context_.processes.empty()) evictor.on_process(chunk, context_.space.block(b).region);
}

ChunkId Residency::allocate_root(Work& work, BlockIndex b, unsigned gpu) {
  GpuState& state = context_.gpus[gpu];
  ChunkId c = state.memory.allocate();
  if (!c.valid() && context_.harvest != nullptr && context_.harvest->give_back(work, gpu)) {
    ++context_.counters.spare_chunks_given_back;
    c = state.memory.allocate();
  }
  if (!c.valid()) {
    c = select_victim(work, gpu, policy::ContentIndex(b.value), false);
    if (!c.valid()) nothing_to_evict(gpu);
    empty_root(work, gpu, c);
    reclaim_batch(work, b, gpu);
  }
  pinned_.push_back(c);
  ++context_.counters.chunk_allocations;
  tell_allocated(gpu, c, policy::ContentIndex(b.value), b);
  return c;
}

// More of what is evicted together with the chunk that was needed. A driver may wait for the copies.
void Residency::reclaim_batch(Work& work, BlockIndex b, unsigned gpu) {
  GpuMemory& memory = context_.gpus[gpu].memory;
  for (std::uint32_t i = 1; i < context_.system.driver.reclaim_batch; ++i) {
    const ChunkId victim = select_victim(work, gpu, policy::ContentIndex(b.value), false);
    if (!victim.valid()) break;
    empty_root(work, gpu, victim);
    memory.release(victim);
  }
  if (context_.system.driver.reclaim_waits) work.cpu = work.done();
}

void Residency::nothing_to_evict(unsigned gpu) const {
  const std::uint64_t pinned = context_.space.pinned_blocks();
  if (pinned == 0) throw ModelError(fmt::format("GPU {}: nothing can be evicted", gpu));
  throw_input_error("GPU {}: nothing can be evicted; the program pinned {} blocks of 2 MiB, it has memory for {}", gpu,
                    pinned, context_.gpus[gpu].memory.chunk_count());
}

// Page tables are made when a block first comes to a GPU, and kept.
void Residency::spend_page_tables(Work& work, BlockIndex b, unsigned gpu) {
  VaBlock& block = context_.space.block(b);
  if ((block.page_tables & gpu_processor(gpu).bit()) != 0) return;
  block.page_tables |= gpu_processor(gpu).bit();
  work.spend(context_.costs().new_chunk_ns);
}

// Makes sure that every page has GPU memory behind it.
void Residency::back(Work& work, BlockIndex b, unsigned gpu, const PageMask& pages) {
  GpuMemory& memory = context_.gpus[gpu].memory;
  if (memory.small_chunks()) return back_small(work, b, gpu, pages);
  if (context_.space.block(b).full_size()) {
    if (memory.whole(b).valid()) return;
    spend_page_tables(work, b, gpu);
    memory.bind_whole(b, allocate_root(work, b, gpu));
    return;
  }
  // An eviction on the way may hit slots of this very block, so look until all are there. It ends: chunks taken here
  // are pinned, and one of them has room for all of a block.
  bool fresh = false;
  for (bool complete = false; !complete;) {
    complete = true;
    for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
      if (!pages.intersects(unit_pages(unit)) || memory.slot(b, unit).valid()) continue;
      SlotId slot = memory.find_free_slot();
      if (!slot.valid()) {
        memory.split(allocate_root(work, b, gpu));
        slot = memory.find_free_slot();
        complete = false;
      }
      memory.bind_slot(b, unit, slot);
      fresh = true;
    }
  }
  if (fresh) spend_page_tables(work, b, gpu);
}

// The same with small chunks. What the operation needs of the block is pinned first; a block fits into any GPU.
void Residency::back_small(Work& work, BlockIndex b, unsigned gpu, const PageMask& pages) {
  GpuState& state = context_.gpus[gpu];
  GpuMemory& memory = state.memory;
  std::uint32_t missing = 0;
  for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
    if (!pages.intersects(unit_pages(unit))) continue;
    const SlotId slot = memory.slot(b, unit);
    missing += slot.valid() ? 0 : 1;
    if (!slot.valid()) continue;
    memory.pin(slot);
    pinned_.push_back(GpuMemory::small_chunk(slot));
  }
  if (missing == 0) return;
  spend_page_tables(work, b, gpu);

  const std::uint32_t free = memory.free_slots();
  for (unsigned unit = 0; unit < kBigPagesPerBlock && free + leaving_.size() < missing; ++unit) {
    if (!pages.intersects(unit_pages(unit)) || memory.slot(b, unit).valid()) continue;
    leaving_.push_back(select_victim(work, gpu, content(b, unit, gpu), false));
    if (!leaving_.back().valid()) nothing_to_evict(gpu);
  }
  empty_small(work, gpu);

  for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
    if (!pages.intersects(unit_pages(unit)) || memory.slot(b, unit).valid()) continue;
    SlotId slot = memory.find_free_slot();
    if (!slot.valid()) {
      const ChunkId root = memory.allocate();
      memory.chunk(root).state = ChunkState::kAllocated;
      memory.split(root);
      slot = memory.find_free_slot();
    }
    memory.bind_slot(b, unit, slot);
    memory.pin(slot);
    const ChunkId chunk = GpuMemory::small_chunk(slot);
    pinned_.push_back(chunk);
    tell_allocated(gpu, chunk, content(b, unit, gpu), b);
  }
}

Nanoseconds Residency::chunk_ready(BlockIndex b, unsigned gpu, const PageMask& pages) const {
  const GpuMemory& memory = context_.gpus[gpu].memory;
  if (const ChunkId c = memory.whole(b); c.valid()) return memory.chunk(c).ready;
  Nanoseconds ready{};
  for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
    if (!pages.intersects(unit_pages(unit))) continue;
    if (const SlotId s = memory.slot(b, unit); s.valid()) {
      ready = std::max(ready, memory.chunk(ChunkId{s.chunk}).ready);
    }
  }
  return ready;
}

// The whole chunk behind a block that the GPU's evictor knows: not one that is lent.
ChunkId Residency::own_chunk(BlockIndex b, unsigned gpu) const {
  const GpuMemory& memory = context_.gpus[gpu].memory;
  const ChunkId c = memory.whole(b);
  return c.valid() && memory.chunk(c).state == ChunkState::kForeign ? ChunkId{} : c;
}

void Residency::unpin(unsigned gpu) {
  GpuState& state = context_.gpus[gpu];
  for (const ChunkId c : pinned_) {
    if (state.memory.small_chunks()) {
      state.memory.unpin(GpuMemory::slot_of(c));
    } else {
      RootChunk& root = state.memory.chunk(c);
      if (root.state != ChunkState::kPinned) continue;
      root.state = ChunkState::kAllocated;
    }
    state.evictor->on_migrated(c);
  }
  pinned_.clear();
}

void Residency::note_chunk_used(BlockIndex b, unsigned gpu) {
  GpuState& state = context_.gpus[gpu];
  const ProcessorPages& mine = context_.space.pages(b, gpu_processor(gpu));
  if (mine.resident.empty()) return;
  if (state.plan != nullptr) state.plan->on_migrated(b);
  if (const ChunkId c = own_chunk(b, gpu); c.valid()) state.evictor->on_migrated(c);
  // Short blocks keep the order of allocation (driver: mark-used is skipped below 2 MB); small chunks were all pinned.
}

// After `gone` left: memory that holds nothing stays with the block (driver: it goes to the UNUSED list).
void Residency::tell_if_emptied(BlockIndex b, unsigned gpu, const PageMask& gone) {
  GpuState& state = context_.gpus[gpu];
  const PageMask& resident = context_.space.pages(b, gpu_processor(gpu)).resident;
  if (state.memory.small_chunks()) {
    state.memory.for_each_small_chunk(b, gone, [&](ChunkId c, unsigned unit) {
      if (!resident.intersects(unit_pages(unit))) state.evictor->on_emptied(c);
    });
    return;
  }
  if (!resident.empty()) return;
  const ChunkId c = own_chunk(b, gpu);
  if (c.valid()) {
    state.evictor->on_emptied(c);
  } else if (state.memory.whole(b).valid()) {
    context_.harvest->release(b);
  }
}

// After pages of the block were marked as discarded, `here` of them resident.
void Residency::tell_if_discarded(BlockIndex b, unsigned gpu, const PageMask& here) {
  GpuState& state = context_.gpus[gpu];
  const PageMask kept = context_.space.pages(b, gpu_processor(gpu)).resident - context_.space.block(b).discarded;
  if (state.memory.small_chunks()) {
    state.memory.for_each_small_chunk(b, here, [&](ChunkId c, unsigned unit) {
      if (!kept.intersects(unit_pages(unit))) state.evictor->on_discarded(c);
    });
    return;
  }
  if (here.empty() || !kept.empty()) return;
  if (const ChunkId c = own_chunk(b, gpu); c.valid()) state.evictor->on_discarded(c);
}

// The block was freed: its memory is free.
void Residency::release_backing(BlockIndex b, unsigned gpu) {
  GpuMemory& memory = context_.gpus[gpu].memory;
  policy::Evictor& evictor = *context_.gpus[gpu].evictor;
  if (const ChunkId c = own_chunk(b, gpu); c.valid()) {
    evictor.on_released(c);
    memory.unbind_whole(b);
    memory.release(c);
  } else if (memory.whole(b).valid()) {
    context_.harvest->release(b);
  }
  for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
    const SlotId slot = memory.slot(b, unit);
    if (!slot.valid()) continue;
    if (memory.small_chunks()) evictor.on_released(GpuMemory::small_chunk(slot));
    const ChunkId root = memory.unbind_slot(b, unit);
    if (!root.valid()) continue;
    if (!memory.small_chunks()) evictor.on_released(root);
    memory.release(root);
  }
  for (unsigned unit = 0; unit < (memory.small_chunks() ? kBigPagesPerBlock : 1); ++unit) {
    evictor.on_freed(content(b, unit, gpu));
  }
}

}  // namespace uvmsim::driver
