// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/backing.h"

#include <algorithm>

#include "sim/driver/harvest.h"

namespace uvmsim::driver {

policy::ContentIndex Backing::content(BlockIndex b, unsigned unit, unsigned gpu) const {
  const bool small = context_.gpus[gpu].memory.small_chunks();
  return policy::ContentIndex(small ? b.value * kBigPagesPerBlock + unit : b.value);
}

Nanoseconds Backing::ready(BlockIndex b, unsigned gpu, const PageMask& pages) const {
  const GpuMemory& memory = context_.gpus[gpu].memory;
  if (const ChunkId c = memory.whole(b); c.valid()) return memory.chunk(c).ready;
  Nanoseconds ready{};
  for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
    if (!pages.intersects(unit_pages(unit))) continue;
    if (const SlotId s = memory.slot(b, unit); s.valid()) ready = std::max(ready, memory.chunk(ChunkId{s.chunk}).ready);
  }
  return ready;
}

// Returns the whole root chunk of a block if the GPU's evictor knows it; it does not know lent chunks.
ChunkId Backing::own_chunk(BlockIndex b, unsigned gpu) const {
  const GpuMemory& memory = context_.gpus[gpu].memory;
  const ChunkId c = memory.whole(b);
  return c.valid() && memory.chunk(c).state == ChunkState::kForeign ? ChunkId{} : c;
}

void Backing::used(BlockIndex b, unsigned gpu) {
  GpuState& state = context_.gpus[gpu];
  const ProcessorPages& mine = context_.space.pages(b, gpu_processor(gpu));
  if (mine.resident.empty()) return;
  if (state.plan != nullptr) state.plan->on_migrated(b);
  if (const ChunkId c = own_chunk(b, gpu); c.valid()) state.evictor->on_migrated(c);
  // Short blocks keep their order of allocation (the driver marks only 2 MB blocks as used). settle() reports small
  // chunks.
}

void Backing::emptied(BlockIndex b, unsigned gpu, const PageMask& gone) {
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
  } else if (state.memory.whole(b).valid() && context_.harvest != nullptr) {
    context_.harvest->release(b);
  }
}

void Backing::discarded(BlockIndex b, unsigned gpu, const PageMask& here) {
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

void Backing::release(BlockIndex b, unsigned gpu) {
  GpuMemory& memory = context_.gpus[gpu].memory;
  policy::Evictor& evictor = *context_.gpus[gpu].evictor;
  if (const ChunkId c = own_chunk(b, gpu); c.valid()) {
    evictor.on_released(c);
    memory.unbind_whole(b);
    memory.release(c);
  } else if (const ChunkId whole = memory.whole(b);
             whole.valid() && context_.space.block(b).kind == MemoryKind::kSystem) {
    memory.unbind_whole(b);
    memory.release(whole);
  } else if (whole.valid() && context_.harvest != nullptr) {
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
