// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/harvest.h"

#include <algorithm>

#include "sim/common/check.h"
#include "sim/driver/harvest_moves.h"

namespace uvmsim::driver {

Harvest::Harvest(const HarvestChoice& choice, const link::Topology& topology, std::vector<GpuState>& gpus)
    : choice_(choice),
      topology_(topology),
      gpus_(gpus),
      moves_(gpus.size()),
      safe_(gpus.size()),
      pending_(gpus.size()),
      pending_count_(gpus.size()),
      safe_count_(gpus.size()),
      keepers_(gpus.size()),
      harvests_(gpus.size()) {}

bool Harvest::can_lend(unsigned gpu) const {
  const GpuMemory& memory = gpus_[gpu].memory;
  return !memory.small_chunks() && memory.free_chunks() + safe_count_[gpu] > choice_.reserve_chunks;
}

bool Harvest::has_room(unsigned gpu, unsigned spare, BlockIndex block) const {
  if (spare == gpu || topology_.peer(gpu, spare) == nullptr || topology_.peer(spare, gpu) == nullptr) return false;
  return can_lend(spare) && !gpus_[spare].memory.whole(block).valid();
}

ChunkId Harvest::take(Work& work, unsigned spare, BlockIndex block, unsigned home) {
  GpuMemory& memory = gpus_[spare].memory;
  ChunkId chunk = memory.allocate();
  if (!chunk.valid()) {
    const bool given = give_back(work, spare);
    chunk = memory.allocate();
    UVMSIM_CHECK(given && chunk.valid(), "GPU {} has no spare chunk", spare);
  }
  memory.bind_whole(block, chunk);
  memory.chunk(chunk).state = ChunkState::kForeign;
  Spare& lent = spares_[block.value];
  UVMSIM_CHECK(!lent.is_used(), "block {} lies in spare memory twice", block.value);
  lent = {static_cast<std::uint8_t>(spare), static_cast<std::uint8_t>(home), false, false, {}};
  ++pending_count_[spare];
  harvests_[spare] = false;
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
  const Nanoseconds end = moves_[lent.home]->write_back(block, lent.spare, start);
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

bool Harvest::give_back(Work& work, unsigned spare) {
  advance(work.cpu);
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
    write(*block, std::max(work.cpu, spares_[block->value].arrived));  // out of turn
  }
  moves_[spares_[block->value].home]->drop_spare_copy(work, *block, spare);
  return true;
}

std::optional<policy::Route> Harvest::way_out(BlockIndex block, unsigned gpu) const {
  if (!holds(block)) return std::nullopt;
  const unsigned spare = where(block);
  const bool joined = spare != gpu && topology_.peer(gpu, spare) != nullptr;
  return joined ? policy::Route{policy::Route::Way::kSpare, spare} : policy::Route{};
}

void Harvest::adopt(BlockIndex block, unsigned gpu_index) {
  if (!holds(block) || where(block) != gpu_index) return;
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

}  // namespace uvmsim::driver
