// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/audit.h"

#include <bit>
#include <map>

#include "sim/common/check.h"

namespace uvmsim::engine {

namespace {

// These checks do not depend on the build: the caller decides whether to audit.
#define UVMSIM_AUDIT(condition, ...)                                                                        \
  do {                                                                                                      \
    if (!(condition)) throw ModelError(fmt::format("audit: {}: {}", #condition, fmt::format(__VA_ARGS__))); \
  } while (false)

void audit_dead(const AddressSpace& space, const std::vector<driver::GpuState>& gpus, BlockIndex b) {
  UVMSIM_AUDIT(space.resident_anywhere(b).empty(), "freed block {} holds pages", b.value);
  for (unsigned gpu = 0; gpu < gpus.size(); ++gpu) {
    UVMSIM_AUDIT(space.pages(b, gpu_processor(gpu)).mapped.empty(), "freed block {} is mapped by GPU {}", b.value, gpu);
    UVMSIM_AUDIT(!gpus[gpu].memory.whole(b).valid(), "freed block {} owns a chunk of GPU {}", b.value, gpu);
    for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
      UVMSIM_AUDIT(!gpus[gpu].memory.slot(b, unit).valid(), "freed block {} owns a slot of GPU {}", b.value, gpu);
    }
  }
}

void audit_copies(const AddressSpace& space, BlockIndex b) {
  const VaBlock& block = space.block(b);
  PageMask once;
  PageMask twice;
  PageMask writable;
  for (unsigned p = 0; p < space.processor_count(); ++p) {
    const ProcessorPages& theirs = space.pages(b, ProcessorId{static_cast<std::uint8_t>(p)});
    UVMSIM_AUDIT(theirs.mapped.contains(theirs.writable), "block {}: processor {} may write what it does not map",
                 b.value, p);
    twice |= once & theirs.resident;
    once |= theirs.resident;
    writable |= theirs.writable;
  }
  UVMSIM_AUDIT(block.extent().contains(once), "block {} holds pages outside its allocation", b.value);
  UVMSIM_AUDIT(twice == block.read_duplicated, "block {}: {} pages have several copies, {} are read-duplicated",
               b.value, twice.count(), block.read_duplicated.count());
  UVMSIM_AUDIT(!writable.intersects(block.read_duplicated), "block {}: a read-duplicated page can be written", b.value);
  for (unsigned p = 0; p < space.processor_count(); ++p) {
    const ProcessorId processor{static_cast<std::uint8_t>(p)};
    const ProcessorPages& theirs = space.pages(b, processor);
    const PageMask reachable = processor.is_host() ? theirs.resident : once;
    UVMSIM_AUDIT(reachable.contains(theirs.mapped), "block {}: processor {} maps pages that are not there", b.value, p);
  }
  const PageMask& on_host = space.pages(b, kHost).resident;
  UVMSIM_AUDIT(block.host_backed.contains(on_host), "block {}: pages on the host without host memory", b.value);
}

// The slots in use per split chunk, counted over the blocks.
using SlotCounts = std::map<std::uint32_t, std::uint32_t>;

void audit_backing(const AddressSpace& space, const GpuMemory& memory, unsigned gpu, BlockIndex b,
                   std::uint64_t& whole_chunks, SlotCounts& slots) {
  const PageMask& resident = space.pages(b, gpu_processor(gpu)).resident;
  const ChunkId whole = memory.whole(b);
  if (whole.valid()) {
    const RootChunk& root = memory.chunk(whole);
    UVMSIM_AUDIT(root.block == b.value && !root.split, "block {} names chunk {} of GPU {}, which is not its own",
                 b.value, whole.value, gpu);
    UVMSIM_AUDIT(root.state == ChunkState::kAllocated || root.state == ChunkState::kForeign,
                 "chunk {} of GPU {} is not allocated", whole.value, gpu);
    ++whole_chunks;
    if (space.block(b).kind == MemoryKind::kSystem && root.state == ChunkState::kForeign) return;  // also if short
  }
  if (space.block(b).full_size() && !memory.small_chunks()) {
    UVMSIM_AUDIT(whole.valid() || resident.empty(), "block {} has pages on GPU {} and no chunk", b.value, gpu);
    return;
  }
  UVMSIM_AUDIT(!whole.valid(), "block {}, which is short or in small chunks, has a whole chunk of GPU {}", b.value,
               gpu);
  for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
    const SlotId slot = memory.slot(b, unit);
    if (!slot.valid()) {
      UVMSIM_AUDIT(resident.count_range(unit * kPagesPerBigPage, kPagesPerBigPage) == 0,
                   "block {} has pages on GPU {} and no slot for unit {}", b.value, gpu, unit);
      continue;
    }
    const RootChunk& root = memory.chunk(ChunkId{slot.chunk});
    UVMSIM_AUDIT(root.state == ChunkState::kAllocated && root.split, "chunk {} of GPU {} has slots and is not split",
                 slot.chunk, gpu);
    UVMSIM_AUDIT(
        (root.used_slots >> slot.slot & 1) != 0 && (*root.slot_owner)[slot.slot] == b.value * kBigPagesPerBlock + unit,
        "slot {} of chunk {} of GPU {} is not block {}'s", slot.slot, slot.chunk, gpu, b.value);
    ++slots[slot.chunk];
  }
}

}  // namespace

void audit_memory(const AddressSpace& space, const std::vector<driver::GpuState>& gpus,
                  std::uint64_t host_resident_pages) {
  std::uint64_t on_host = 0;
  space.for_each_used([&](BlockIndex b) {
    if (!space.block(b).live) {
      audit_dead(space, gpus, b);
    } else {
      audit_copies(space, b);
      on_host += space.pages(b, kHost).resident.count();
    }
  });
  UVMSIM_AUDIT(on_host == host_resident_pages, "{} pages on the host, the driver believes {}", on_host,
               host_resident_pages);
  for (unsigned gpu = 0; gpu < gpus.size(); ++gpu) {
    const GpuMemory& memory = gpus[gpu].memory;
    std::uint64_t resident = 0;
    std::uint64_t whole_chunks = 0;
    SlotCounts slots;
    space.for_each_used([&](BlockIndex b) {
      if (!space.block(b).live) return;
      audit_backing(space, memory, gpu, b, whole_chunks, slots);
      resident += space.pages(b, gpu_processor(gpu)).resident.count();
    });
    for (const auto& [chunk, used] : slots) {
      UVMSIM_AUDIT(used == static_cast<std::uint32_t>(std::popcount(memory.chunk(ChunkId{chunk}).used_slots)),
                   "chunk {} of GPU {}: blocks name {} slots", chunk, gpu, used);
    }
    UVMSIM_AUDIT(resident == gpus[gpu].resident_pages, "{} pages on GPU {}, the driver believes {}", resident, gpu,
                 gpus[gpu].resident_pages);
    const std::uint64_t unmanaged = memory.count(ChunkState::kUnmanaged);
    UVMSIM_AUDIT(whole_chunks + slots.size() + memory.free_chunks() + unmanaged == memory.chunk_count(),
                 "GPU {}: {} chunks back blocks, {} are shared, {} free, {} device memory, of {}", gpu, whole_chunks,
                 slots.size(), memory.free_chunks(), unmanaged, memory.chunk_count());
  }
}

void audit_program(const AddressSpace& space, unsigned region, std::uint64_t host_resident_pages) {
  std::uint64_t on_host = 0;
  space.for_each_used([&](BlockIndex b) {
    const VaBlock& block = space.block(b);
    if (block.live && block.region == region) on_host += space.pages(b, kHost).resident.count();
  });
  UVMSIM_AUDIT(on_host == host_resident_pages, "program {}: {} pages on the host, its driver believes {}", region,
               on_host, host_resident_pages);
}

void audit_host(const AddressSpace& space, const HostMemory& memory, std::uint64_t ssd_bytes) {
  if (!memory.limited()) return;
  std::uint64_t used = 0;
  std::uint64_t saved = 0;
  space.for_each_used([&](BlockIndex b) {
    const PageMask held = space.block(b).live ? space.pages(b, kHost).resident : PageMask{};
    const PageMask here = memory.in_memory(b);
    UVMSIM_AUDIT(held.contains(here), "block {}: {} pages lie in host memory, {} are the host's", b.value, here.count(),
                 held.count());
    UVMSIM_AUDIT((here | memory.saved(b)).contains(held), "block {}: the host holds pages that are nowhere", b.value);
    UVMSIM_AUDIT(space.block(b).live || memory.saved(b).empty(), "freed block {} lies on the SSD", b.value);
    UVMSIM_AUDIT(here.contains(space.pages(b, kHost).mapped), "block {}: the CPU maps pages on the SSD", b.value);
    used += here.count();
    saved += memory.saved(b).count();
  });
  UVMSIM_AUDIT(used == memory.used_pages() && used <= memory.capacity_pages(),
               "{} pages lie in host memory of {}, the tier believes {}", used, memory.capacity_pages(),
               memory.used_pages());
  UVMSIM_AUDIT(saved == memory.saved_pages() && saved * kBasePageBytes <= ssd_bytes,
               "{} pages lie on the SSD of {} bytes, the tier believes {}", saved, ssd_bytes, memory.saved_pages());
}

void audit_counters(const Counters& c, const std::vector<driver::GpuState>& gpus, const Ledger& ledger) {
  std::uint64_t resident = 0;
  for (const driver::GpuState& gpu : gpus) resident += gpu.resident_pages;
  const std::uint64_t down = c.htod_bytes() / kBasePageBytes;
  const std::uint64_t up = c.dtoh_bytes() / kBasePageBytes;
  const std::uint64_t arrived = down + c.populated_pages;
  if (!ledger.copies_dropped) {
    UVMSIM_AUDIT(arrived == resident + up + ledger.released_pages,
                 "{} pages came to GPUs; {} are there, {} went to the host, {} were freed", arrived, resident, up,
                 ledger.released_pages);
  }
  // A page that comes from another GPU may stay there too, if it is duplicated.
  const std::uint64_t copied =
      (c.dtod_fault_bytes + c.dtod_prefetch_bytes + c.dtod_user_bytes + c.dtod_evict_bytes) / kBasePageBytes;
  UVMSIM_AUDIT(arrived + copied >= resident + ledger.released_pages,
               "{} pages came to GPUs, {} from other GPUs; {} are there, {} were freed", arrived, copied, resident,
               ledger.released_pages);
  const std::uint64_t explained = c.duplicate_faults + c.stale_faults + c.faulting_pages;
  UVMSIM_AUDIT(c.throttles == 0 ? c.raw_faults == explained : c.raw_faults >= explained,
               "{} raw faults fetched; {} duplicates, {} stale, {} serviced", c.raw_faults, c.duplicate_faults,
               c.stale_faults, c.faulting_pages);
  UVMSIM_AUDIT(c.read_fault_batches + c.write_fault_batches == c.fault_batches, "{} + {} of {} batches",
               c.read_fault_batches, c.write_fault_batches, c.fault_batches);
  UVMSIM_AUDIT(c.evictions_without_copy <= c.evictions, "{} of {} evictions", c.evictions_without_copy, c.evictions);
}

#undef UVMSIM_AUDIT

}  // namespace uvmsim::engine
