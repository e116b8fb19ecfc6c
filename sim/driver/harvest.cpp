#include "sim/driver/harvest.h"

#include <algorithm>

#include "sim/common/check.h"
#include "sim/driver/residency.h"

namespace uvmsim::driver {

Harvest::Harvest(const HarvestChoice& choice, const link::Topology& topology, std::vector<GpuState>& gpus)
    : choice_(choice),
      topology_(topology),
      gpus_(gpus),
      residencies_(gpus.size()),
      safe_(gpus.size()),
      pending_(gpus.size()),
      pending_count_(gpus.size()),
      safe_count_(gpus.size()),
      keepers_(gpus.size()) {}

bool Harvest::can_lend(unsigned gpu) const {
  const GpuMemory& memory = gpus_[gpu].memory;
  return !memory.small_chunks() && memory.free_chunks() + safe_count_[gpu] > choice_.reserve_chunks;
}

std::optional<unsigned> Harvest::spare_for(unsigned gpu, BlockIndex block, Nanoseconds now) {
  advance(now);
  std::optional<unsigned> best;
  for (unsigned other = 0; other < gpus_.size(); ++other) {
    if (other == gpu || topology_.peer(gpu, other) == nullptr || topology_.peer(other, gpu) == nullptr) continue;
    if (!can_lend(other) || gpus_[other].memory.whole(block).valid()) continue;
    if (!best || pending_count_[other] < pending_count_[*best]) best = other;
  }
  return best;
}

ChunkId Harvest::take(unsigned spare, BlockIndex block, unsigned home, Nanoseconds now) {
  GpuMemory& memory = gpus_[spare].memory;
  ChunkId chunk = memory.allocate();
  if (!chunk.valid()) {
    const bool given = give_back(spare, now);
    chunk = memory.allocate();
    UVMSIM_CHECK(given && chunk.valid(), "GPU {} has no spare chunk", spare);
  }
  memory.bind_whole(block, chunk);
  memory.chunk(chunk).state = ChunkState::kForeign;
  if (block.value >= spares_.size()) spares_.resize(std::max<std::size_t>(block.value + 1, spares_.size() * 2));
  Spare& lent = spares_[block.value];
  UVMSIM_CHECK(!lent.is_used(), "block {} lies in spare memory twice", block.value);
  lent = {static_cast<std::uint8_t>(spare), static_cast<std::uint8_t>(home), false, {}};
  ++pending_count_[spare];
  return chunk;
}

void Harvest::arrives(BlockIndex block, Nanoseconds arrived, bool safe) {
  Spare& lent = spares_[block.value];
  lent.arrived = arrived;
  if (lent.safe != safe) {
    lent.safe = safe;
    --(safe ? pending_count_ : safe_count_)[lent.spare];
    ++(safe ? safe_count_ : pending_count_)[lent.spare];
  }
  (safe ? safe_ : pending_)[lent.spare].push_back(block);
  if (!safe) queue_.push_back(block);
}

Nanoseconds Harvest::write(BlockIndex block, Nanoseconds start) {
  Spare& lent = spares_[block.value];
  const Nanoseconds end = residencies_[lent.home]->write_back(block, lent.spare, start);
  lent.safe = true;
  --pending_count_[lent.spare];
  ++safe_count_[lent.spare];
  safe_[lent.spare].push_back(block);
  return end;
}

void Harvest::advance(Nanoseconds now) {
  while (!queue_.empty()) {
    const BlockIndex block = queue_.front();
    if (!holds(block) || spares_[block.value].safe) {
      queue_.pop_front();
      continue;
    }
    const Nanoseconds start = std::max(writer_free_at_, spares_[block.value].arrived);
    if (start > now) return;
    queue_.pop_front();
    writer_free_at_ = write(block, start);
  }
}

bool Harvest::give_back(unsigned spare, Nanoseconds now) {
  advance(now);
  const auto oldest = [&](std::deque<BlockIndex>& list, bool safe) -> std::optional<BlockIndex> {
    for (; !list.empty(); list.pop_front()) {
      const BlockIndex block = list.front();
      if (holds(block) && where(block) == spare && spares_[block.value].safe == safe) return block;
    }
    return std::nullopt;
  };
  std::optional<BlockIndex> block = oldest(safe_[spare], true);
  if (!block) {
    block = oldest(pending_[spare], false);
    if (!block) return false;
    write(*block, std::max(now, spares_[block->value].arrived));  // out of turn
  }
  residencies_[spares_[block->value].home]->drop_spare_copy(*block, spare, now);
  return true;
}

void Harvest::adopt(BlockIndex block) {
  Spare& lent = spares_[block.value];
  --(lent.safe ? safe_count_ : pending_count_)[lent.spare];
  GpuState& gpu = gpus_[lent.spare];
  const ChunkId chunk = gpu.memory.whole(block);
  gpu.memory.chunk(chunk).state = ChunkState::kAllocated;
  gpu.evictor->on_allocated(chunk, policy::ContentIndex(block.value));
  lent = {};
}

void Harvest::release(BlockIndex block) {
  Spare& lent = spares_[block.value];
  --(lent.safe ? safe_count_ : pending_count_)[lent.spare];
  GpuMemory& memory = gpus_[lent.spare].memory;
  const ChunkId chunk = memory.whole(block);
  memory.unbind_whole(block);
  memory.release(chunk, GpuMemory::Reuse::kLast);
  lent = {};
}

// A whole block goes to a peer. False: there is no room.
bool Residency::evict_to_spare(Work& work, unsigned gpu, BlockIndex b) {
  Harvest& harvest = *context_.harvest;
  VaBlock& block = context_.space.block(b);
  ProcessorPages& mine = context_.space.pages(b, gpu_processor(gpu));
  const PageMask gone = mine.resident;
  const PageMask copied = gone - context_.space.pages(b, kHost).resident - block.discarded;
  if (!harvest.choice().victims || block.hints.any() || !block.read_duplicated.empty() || copied.empty()) return false;
  // What is left of the block in spare memory, the rest joins.
  const bool joins = harvest.holds(b);
  const std::optional<unsigned> spare = joins ? harvest.where(b) : harvest.spare_for(gpu, b, work.cpu);
  if (!spare || *spare == gpu) return false;
  GpuMemory& memory = context_.gpus[*spare].memory;
  const ChunkId chunk = joins ? memory.whole(b) : harvest.take(*spare, b, gpu, work.cpu);

  if (PlanHooks* plan = context_.gpus[gpu].plan; plan != nullptr) plan->on_released(b);
  for (unsigned holder = 0; holder < context_.space.gpu_count(); ++holder) unmap_gpu(b, holder, gone);
  copy(work, b, {gpu_processor(gpu), gpu_processor(*spare)}, std::max(work.cpu, memory.chunk(chunk).ready), copied,
       PageMask{}, TransferCause::kEvict);
  const Nanoseconds arrived = runs_.back().end;
  memory.chunk(chunk).ready = arrived;
  mine.resident -= gone;
  context_.gpus[gpu].resident_pages -= gone.count();
  context_.space.pages(b, gpu_processor(*spare)).resident |= copied;
  context_.gpus[*spare].resident_pages += copied.count();
  block.evicted |= gone;
  context_.gpus[gpu].oversubscribed = true;
  if (context_.accounts != nullptr) {
    tell_residency(*context_.accounts, gpu, b, gone, ResidencyChange::kEvicted, work.cpu);
  }
  context_.prefetcher.on_evicted(b, gone, context_.access_bits.take(b, gone));
  ++context_.counters.evictions_to_peers;
  harvest.arrives(b, arrived);
  return true;
}

Nanoseconds Residency::write_back(BlockIndex b, unsigned spare, Nanoseconds start) {
  VaBlock& block = context_.space.block(b);
  ProcessorPages& host = context_.space.pages(b, kHost);
  const PageMask written = context_.space.pages(b, gpu_processor(spare)).resident - host.resident - block.discarded;
  Work writer(start);
  back_on_host(writer, b, written);
  if (written.empty()) return writer.done();
  copy(writer, b, {gpu_processor(spare), kHost}, writer.cpu, written, PageMask{}, TransferCause::kEvict);
  host.resident |= written;
  context_.host_resident_pages += written.count();
  block.read_duplicated |= written;
  ++context_.counters.peer_write_backs;
  GpuMemory& memory = context_.gpus[spare].memory;
  memory.chunk(memory.whole(b)).ready = runs_.back().end;
  return writer.done();
}

void Residency::drop_spare_copy(BlockIndex b, unsigned spare, Nanoseconds now) {
  ProcessorPages& theirs = context_.space.pages(b, gpu_processor(spare));
  const PageMask here = theirs.resident;
  Work work(now);
  drop_copies(work, b, spare, here);
  // The host has them, and whoever else they were duplicated for.
  PageMask elsewhere;
  for (unsigned gpu = 0; gpu < context_.space.gpu_count(); ++gpu) {
    elsewhere |= context_.space.pages(b, gpu_processor(gpu)).resident;
  }
  context_.space.block(b).read_duplicated -= here - elsewhere;
}

void Residency::fetch_to_spare(Work& helper, BlockIndex b, unsigned gpu) {
  Harvest& harvest = *context_.harvest;
  VaBlock& block = context_.space.block(b);
  ProcessorPages& host = context_.space.pages(b, kHost);
  const PageMask pages = host.resident - block.discarded;
  const bool alone = pages == context_.space.resident_anywhere(b) && host.mapped.empty();
  if (!alone || block.evicted.empty() || block.hints.any() || !block.full_size() || harvest.holds(b)) return;
  const std::optional<unsigned> spare = harvest.spare_for(gpu, b, helper.cpu);
  if (!spare) return;
  const ChunkId chunk = harvest.take(*spare, b, gpu, helper.cpu);
  GpuMemory& memory = context_.gpus[*spare].memory;
  helper.spend(context_.costs().block_ns);
  copy(helper, b, {kHost, gpu_processor(*spare)}, std::max(helper.cpu, memory.chunk(chunk).ready), pages, PageMask{},
       TransferCause::kFault);
  const Nanoseconds arrived = runs_.back().end;
  memory.chunk(chunk).ready = arrived;
  context_.space.pages(b, gpu_processor(*spare)).resident |= pages;
  context_.gpus[*spare].resident_pages += pages.count();
  block.read_duplicated |= pages;
  ++context_.counters.parallel_fetches;
  harvest.arrives(b, arrived, true);
}

void Residency::keep_reserve(Work& work, BlockIndex served, unsigned gpu) {
  Harvest& harvest = *context_.harvest;
  GpuMemory& memory = context_.gpus[gpu].memory;
  Work keeper(std::max(harvest.keeper_free_at(gpu), work.cpu));
  const BlockIndex alone[] = {served};
  const std::span<const BlockIndex> others = spared_;
  spared_ = others.empty() ? std::span<const BlockIndex>(alone) : others;
  while (memory.free_chunks() + harvest.lent(gpu) < harvest.choice().reserve_chunks) {
    const ChunkId victim = select_victim(keeper, gpu, content(served, 0, gpu), false);
    if (!victim.valid()) break;
    empty_root(keeper, gpu, victim);
    memory.release(victim, GpuMemory::Reuse::kLast);
    ++context_.counters.pre_evictions;
  }
  spared_ = others;
  harvest.keeper_free_at(gpu) = keeper.cpu;
}

}  // namespace uvmsim::driver
