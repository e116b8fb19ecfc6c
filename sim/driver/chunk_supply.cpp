// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/chunk_supply.h"

#include <algorithm>

#include "sim/common/check.h"
#include "sim/common/error.h"
#include "sim/driver/harvest.h"

namespace uvmsim::driver {

namespace {

const char* kind_of_chunk(const GpuMemory& memory) { return memory.small_chunks() ? "64 KB chunk" : "root chunk"; }

}  // namespace

// One question to the evictor of a GPU for a victim, with the queries that the evictor may make in return.
class ChunkSupply::Question final : public policy::EvictionQueries {
 public:
  // `early`: no allocation waits for the victim, which must not belong to the block that was just served.
  Question(const DriverContext& context, const Demand& demand, Nanoseconds now, policy::ContentIndex incoming,
           const std::vector<ChunkId>& leaving, bool early = false)
      : context_(context),
        state_(context.gpus[demand.gpu]),
        demand_(demand),
        now_(now),
        incoming_(incoming),
        leaving_(leaving.size()),
        early_(early) {}

  unsigned gpu() const { return demand_.gpu; }
  GpuState& state() const { return state_; }

  bool evictable(ChunkId c) const override {
    const GpuMemory& memory = state_.memory;
    if (c.value >= memory.known_evictor_chunks()) return false;
    if (memory.small_chunks()) {
      const SlotId slot = GpuMemory::slot_of(c);
      return memory.used(slot) && !memory.pinned(slot) && !spared(memory.owner(slot).block);
    }
    if (memory.chunk(c).state != ChunkState::kAllocated) return false;
    if (!early_ && demand_.spared.empty() && context_.space.pinned_blocks() == 0) return true;
    bool serves = false;
    memory.for_each_owner(c, [&](BlockIndex b, const PageMask&) { serves = serves || spared(b); });
    return !serves;
  }

  policy::ChunkView view(ChunkId c) const override {
    const GpuMemory& memory = state_.memory;
    const auto resident = [&](BlockIndex b) -> const PageMask& {
      return context_.space.pages(b, gpu_processor(gpu())).resident;
    };
    const auto unsaved = [&](BlockIndex b, const PageMask& part) {
      return (resident(b) & part) - context_.space.pages(b, kHost).resident - context_.space.block(b).discarded;
    };
    if (memory.small_chunks()) {
      const auto [block, unit] = memory.owner(GpuMemory::slot_of(c));
      return {policy::ContentIndex(block.value * kBigPagesPerBlock + unit),
              (resident(block) & unit_pages(unit)).count(), unsaved(block, unit_pages(unit)).count()};
    }
    policy::ChunkView view{policy::ContentIndex(RootChunk::kNoBlock), 0, 0};
    memory.for_each_owner(c, [&](BlockIndex b, const PageMask& part) {
      if (view.content.value == RootChunk::kNoBlock) view.content = policy::ContentIndex(b.value);
      view.resident_pages += (resident(b) & part).count();
      view.unsaved_pages += unsaved(b, part).count();
    });
    return view;
  }

  Nanoseconds now() const override { return now_; }
  policy::ContentIndex incoming() const override { return incoming_; }
  std::uint32_t process() const override { return context_.process; }
  std::uint32_t free_chunks() const override {
    return state_.memory.free_evictor_chunks() + static_cast<std::uint32_t>(leaving_);
  }

  // Throws if a chunk can be evicted after all: the core does not choose a victim in a policy's place.
  void refuse_no_victim() const {
    const GpuMemory& memory = state_.memory;
    for (std::uint32_t c = 0; c < memory.known_evictor_chunks(); ++c) {
      if (!evictable(ChunkId{c})) continue;
      const std::uint64_t block = memory.small_chunks() ? incoming_.value / kBigPagesPerBlock : incoming_.value;
      const std::string needs = incoming_ == policy::kNoContent ? "device memory" : fmt::format("block {}", block);
      throw ModelError(fmt::format("{} returned no victim for {}, although {} {} can be evicted", context_.evict_label,
                                   needs, kind_of_chunk(memory), c));
    }
  }

 private:
  bool spared(BlockIndex b) const {
    return (early_ && b == demand_.block) || context_.space.block(b).hints.pinned ||
           std::binary_search(demand_.spared.begin(), demand_.spared.end(), b);
  }

  const DriverContext& context_;
  GpuState& state_;
  const Demand& demand_;
  const Nanoseconds now_;
  const policy::ContentIndex incoming_;
  const std::size_t leaving_;  // victims that are not empty yet
  const bool early_;
};

bool ChunkSupply::has_room(const Demand& demand, const PageMask& pages) const {
  const BlockIndex b = demand.block;
  const GpuMemory& memory = context_.gpus[demand.gpu].memory;
  std::uint32_t missing = 0;
  if (!memory.small_chunks() && context_.space.block(b).full_size()) {
    missing = memory.whole(b).valid() ? 0 : 1;
  } else {
    for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
      missing += pages.intersects(unit_pages(unit)) && !memory.slot(b, unit).valid() ? 1 : 0;
    }
    // A block below 2 MB needs at most one root chunk.
    if (!memory.small_chunks()) missing = std::min(missing, 1u);
  }
  std::uint32_t room = memory.free_evictor_chunks();
  const Question question(context_, demand, {}, {}, leaving_);
  for (std::uint32_t c = 0; c < memory.known_evictor_chunks() && room < missing; ++c) {
    const bool own = memory.small_chunks() && memory.used(GpuMemory::slot_of(ChunkId{c})) &&
                     memory.owner(GpuMemory::slot_of(ChunkId{c})).block == b;
    room += !own && question.evictable(ChunkId{c}) ? 1 : 0;
  }
  return room >= missing;
}

// Pins the victim and takes it from the evictor.
ChunkId ChunkSupply::take(unsigned gpu, ChunkId victim) {
  GpuState& state = context_.gpus[gpu];
  if (state.memory.small_chunks()) {
    state.memory.pin(GpuMemory::slot_of(victim));
  } else {
    state.memory.chunk(victim).state = ChunkState::kPinned;
  }
  state.evictor->on_released(victim);
  return victim;
}

// Asks the plan, then the policy, and checks the answer. Returns the victim, taken, or an invalid id if there is none.
ChunkId ChunkSupply::select_victim(Work& work, const Question& question) {
  GpuState& state = question.state();
  if (state.plan != nullptr) {
    const auto planned = state.plan->victim(work);
    if (planned && question.evictable(state.memory.whole(planned->block))) {
      if (planned->drop) departures_.drop_contents(work.cpu, question.gpu(), planned->block);
      return take(question.gpu(), state.memory.whole(planned->block));
    }
  }
  const ChunkId victim = state.evictor->select_victim(question);
  work.cpu += context_.evict_decision_cost;
  if (victim.valid()) return checked(question, victim);
  question.refuse_no_victim();
  return {};
}

// Asks the policy only, as plans have no early victims.
ChunkId ChunkSupply::select_early_victim(Work& work, const Question& question) {
  const ChunkId victim = question.state().evictor->select_early_victim(question);
  if (!victim.valid()) return {};
  work.cpu += context_.evict_decision_cost;
  return checked(question, victim);
}

ChunkId ChunkSupply::checked(const Question& question, ChunkId victim) {
  if (!question.evictable(victim)) {
    throw ModelError(fmt::format("{} chose {} {}, which is free, pinned or out of range", context_.evict_label,
                                 kind_of_chunk(question.state().memory), victim.value));
  }
  return take(question.gpu(), victim);
}

void ChunkSupply::count_eviction(Work& work, unsigned gpu, std::uint64_t address, std::uint64_t copied_bytes) {
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
void ChunkSupply::empty_root(Work& work, unsigned gpu, ChunkId victim, Moved& moved) {
  GpuMemory& memory = context_.gpus[gpu].memory;
  PlanHooks* plan = context_.gpus[gpu].plan;
  const bool split = memory.chunk(victim).split;
  work.spend(context_.costs().evict_chunk_ns);
  ++moved.evictions;
  std::uint64_t copied_bytes = 0;
  std::uint64_t first_block = RootChunk::kNoBlock;
  if (context_.harvest != nullptr) context_.harvest->note_eviction(gpu);
  memory.for_each_owner(victim, [&](BlockIndex b, const PageMask& part) {
    if (first_block == RootChunk::kNoBlock) first_block = b.value;
    if (plan != nullptr) plan->on_released(b);
    copied_bytes += departures_.push_out(work, b, gpu, part, !split, moved).count() * kBasePageBytes;
  });
  RootChunk& root = memory.chunk(victim);
  if (split) {
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
  root.ready = copied_bytes == 0 ? work.cpu : work.pushed;
  count_eviction(work, gpu, virtual_address(BlockIndex(first_block), 0), copied_bytes);
}

// Empties and frees the small chunks in `leaving_`. Consecutive chunks of one block are unmapped and copied together,
// at the cost of one eviction.
void ChunkSupply::empty_small(Work& work, unsigned gpu, Moved& moved) {
  moved.evictions += static_cast<std::uint32_t>(leaving_.size());
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
    const PageMask copied = departures_.push_out(work, block, gpu, pages, false, moved);
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

// Evicts early victims: the driver's thread starts the copies now and does not wait for them.
Moved ChunkSupply::serve_early_victims(Work& work, const Demand& demand) {
  const unsigned gpu = demand.gpu;
  Work background(work.cpu);
  GpuMemory& memory = context_.gpus[gpu].memory;
  Moved moved;
  for (;;) {
    const ChunkId victim = select_early_victim(
        background, Question(context_, demand, background.cpu, backing_.content(demand.block, 0, gpu), leaving_, true));
    if (!victim.valid()) break;
    if (memory.small_chunks()) {
      leaving_.push_back(victim);
    } else {
      empty_root(background, gpu, victim, moved);
      memory.release(victim);
    }
  }
  empty_small(background, gpu, moved);
  // No pages arrive in their place, so no other event reports the new residency.
  if (moved.evicted_pages != 0) emit_residency(context_, gpu, std::max(work.done(), background.cpu));
  work.cpu = background.cpu;
  return moved;
}

void ChunkSupply::evict_early(Work& work, unsigned gpu, BlockIndex b, bool drop) {
  GpuMemory& memory = context_.gpus[gpu].memory;
  if (drop) departures_.drop_contents(work.cpu, gpu, b);
  const ChunkId chunk = take(gpu, memory.whole(b));
  Moved moved;
  empty_root(work, gpu, chunk, moved);
  memory.release(chunk, GpuMemory::Reuse::kLast);
  ++context_.counters.pre_evictions;
}

bool ChunkSupply::pre_evict(Work& work, const Demand& demand, Moved& moved) {
  const policy::ContentIndex incoming = backing_.content(demand.block, 0, demand.gpu);
  const ChunkId victim = select_victim(work, Question(context_, demand, work.cpu, incoming, leaving_));
  if (!victim.valid()) return false;
  empty_root(work, demand.gpu, victim, moved);
  context_.gpus[demand.gpu].memory.release(victim, GpuMemory::Reuse::kLast);
  ++context_.counters.pre_evictions;
  return true;
}

// Frees a chunk that the GPU lends to another one. Returns false if there is none.
bool ChunkSupply::take_back_lent(Work& work, unsigned gpu) {
  if (context_.harvest == nullptr || !context_.harvest->give_back(work, gpu)) return false;
  ++context_.counters.spare_chunks_given_back;
  return true;
}

ChunkId ChunkSupply::take_unmanaged(Work& work, unsigned gpu, bool& pages_left) {
  GpuMemory& memory = context_.gpus[gpu].memory;
  const Demand nobody{BlockIndex(RootChunk::kNoBlock), gpu};
  Moved moved;
  ChunkId chunk = memory.allocate();
  const bool given_back = !chunk.valid() && take_back_lent(work, gpu);
  if (given_back) chunk = memory.allocate();
  while (!chunk.valid()) {
    const ChunkId victim = select_victim(work, Question(context_, nobody, work.cpu, policy::kNoContent, leaving_));
    if (!victim.valid()) return {};
    if (memory.small_chunks()) {
      leaving_.push_back(victim);
      empty_small(work, gpu, moved);
      chunk = memory.allocate();
    } else {
      empty_root(work, gpu, victim, moved);
      chunk = victim;
    }
  }
  RootChunk& root = memory.chunk(chunk);
  root.state = ChunkState::kUnmanaged;
  work.await(root.ready);
  pages_left = pages_left || given_back || moved.evicted_pages != 0;
  return chunk;
}

void ChunkSupply::return_unmanaged(unsigned gpu, ChunkId chunk) { context_.gpus[gpu].memory.release(chunk); }

void ChunkSupply::tell_allocated(unsigned gpu, ChunkId chunk, policy::ContentIndex content, BlockIndex b) {
  policy::Evictor& evictor = *context_.gpus[gpu].evictor;
  evictor.on_allocated(chunk, content);
  if (!context_.processes.empty()) evictor.on_process(chunk, context_.space.block(b).region);
}

ChunkId ChunkSupply::allocate_root(Work& work, const Demand& demand, Moved& moved) {
  const unsigned gpu = demand.gpu;
  const policy::ContentIndex incoming(demand.block.value);
  GpuState& state = context_.gpus[gpu];
  ChunkId c = state.memory.allocate();
  if (!c.valid() && take_back_lent(work, gpu)) c = state.memory.allocate();
  if (!c.valid()) {
    c = select_victim(work, Question(context_, demand, work.cpu, incoming, leaving_));
    if (!c.valid()) nothing_to_evict(gpu);
    empty_root(work, gpu, c, moved);
    reclaim_batch(work, demand, moved);
  }
  pinned_.push_back(c);
  ++context_.counters.chunk_allocations;
  tell_allocated(gpu, c, incoming, demand.block);
  return c;
}

// Evicts the rest of a reclaim batch, beyond the chunk that was needed. Some drivers wait for the copies.
void ChunkSupply::reclaim_batch(Work& work, const Demand& demand, Moved& moved) {
  GpuMemory& memory = context_.gpus[demand.gpu].memory;
  for (std::uint32_t i = 1; i < context_.system.driver.reclaim_batch; ++i) {
    const policy::ContentIndex incoming(demand.block.value);
    const ChunkId victim = select_victim(work, Question(context_, demand, work.cpu, incoming, leaving_));
    if (!victim.valid()) break;
    empty_root(work, demand.gpu, victim, moved);
    memory.release(victim);
  }
  if (context_.system.driver.reclaim_waits) work.cpu = work.done();
}

void ChunkSupply::nothing_to_evict(unsigned gpu) const {
  const std::uint64_t pinned = context_.space.pinned_blocks();
  const GpuMemory& memory = context_.gpus[gpu].memory;
  const std::uint32_t unmanaged = memory.count(ChunkState::kUnmanaged), foreign = memory.count(ChunkState::kForeign);
  if (unmanaged + foreign != 0) {
    throw_input_error(
        "GPU {}: nothing can be evicted for managed memory; of {} chunks of 2 MiB programs hold {} as device memory "
        "and {} "
        "as memory of malloc or of another GPU, and pinned {}",
        gpu, memory.chunk_count(), unmanaged, foreign, pinned);
  }
  if (pinned == 0) throw ModelError(fmt::format("GPU {}: nothing can be evicted", gpu));
  throw_input_error("GPU {}: nothing can be evicted; the program pinned {} blocks of 2 MiB, it has memory for {}", gpu,
                    pinned, memory.chunk_count());
}

// Charges for page tables, which are created when a block first migrates to a GPU, and kept.
void ChunkSupply::spend_page_tables(Work& work, BlockIndex b, unsigned gpu) {
  VaBlock& block = context_.space.block(b);
  if ((block.page_tables & gpu_processor(gpu).bit()) != 0) return;
  block.page_tables |= gpu_processor(gpu).bit();
  work.spend(context_.costs().new_chunk_ns);
}

void ChunkSupply::back(Work& work, const Demand& demand, const PageMask& pages, Moved& moved) {
  const BlockIndex b = demand.block;
  const unsigned gpu = demand.gpu;
  GpuMemory& memory = context_.gpus[gpu].memory;
  if (memory.small_chunks()) return back_small(work, demand, pages, moved);
  if (context_.space.block(b).full_size()) {
    if (memory.whole(b).valid()) return;
    spend_page_tables(work, b, gpu);
    memory.bind_whole(b, allocate_root(work, demand, moved));
    return;
  }
  // An eviction may free slots of this very block; the loop repeats until all units have memory. It ends because chunks
  // taken here are pinned, and one of them has room for a whole block.
  bool fresh = false;
  for (bool complete = false; !complete;) {
    complete = true;
    for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
      if (!pages.intersects(unit_pages(unit)) || memory.slot(b, unit).valid()) continue;
      SlotId slot = memory.find_free_slot();
      if (!slot.valid()) {
        memory.split(allocate_root(work, demand, moved));
        slot = memory.find_free_slot();
        complete = false;
      }
      memory.bind_slot(b, unit, slot);
      fresh = true;
    }
  }
  if (fresh) spend_page_tables(work, b, gpu);
}

// Does the same with small chunks. It first pins the block's units that are needed; a block fits into any GPU.
void ChunkSupply::back_small(Work& work, const Demand& demand, const PageMask& pages, Moved& moved) {
  const BlockIndex b = demand.block;
  const unsigned gpu = demand.gpu;
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
    leaving_.push_back(
        select_victim(work, Question(context_, demand, work.cpu, backing_.content(b, unit, gpu), leaving_)));
    if (!leaving_.back().valid()) nothing_to_evict(gpu);
  }
  empty_small(work, gpu, moved);

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
    tell_allocated(gpu, chunk, backing_.content(b, unit, gpu), b);
  }
}

void ChunkSupply::settle(unsigned gpu) {
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

}  // namespace uvmsim::driver
