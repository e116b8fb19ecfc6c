// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/host_tier.h"

#include <algorithm>

#include "sim/common/check.h"
#include "sim/common/error.h"
#include "sim/driver/mappings.h"

namespace uvmsim::driver {

void HostTier::back(Work& work, BlockIndex b, const PageMask& pages) {
  VaBlock& block = context_.space.block(b);
  if (block.host_backed.contains(pages)) return;
  // The driver tries 2 MB first: one allocation backs the whole block (>= 530).
  block.host_backed = context_.system.host.large_pages ? block.extent() : block.host_backed | pages;
  work.spend(context_.costs().host_allocate_chunk_ns);
}

Nanoseconds HostTier::admit(Nanoseconds now, BlockIndex b, const PageMask& pages) {
  if (!context_.host_memory.limited() || pages.empty()) return {};
  return claim(now, b, pages);
}

Nanoseconds HostTier::fetch(Nanoseconds now, BlockIndex b, const PageMask& pages) {
  HostMemory& memory = context_.host_memory;
  if (!memory.limited()) return {};
  memory.use(b, pages);
  const PageMask missing = memory.swapped(b, pages);
  if (missing.empty()) return {};
  UVMSIM_CHECK(memory.saved(b).contains(missing), "block {}: pages that are nowhere are read", b.value);
  const Nanoseconds free = claim(now, b, missing);
  return pass(false, std::max(free, memory.written_until(b)), b, missing);
}

void HostTier::leave(BlockIndex b, const PageMask& pages, Nanoseconds at) {
  HostMemory& memory = context_.host_memory;
  if (!memory.limited()) return;
  const PageMask gone = memory.in_memory(b) & pages;
  if (gone.empty()) return;
  memory.remove(b, gone);
  memory.free_from(at, gone.count());
}

void HostTier::drop(BlockIndex b, const PageMask& pages) {
  leave(b, pages, Nanoseconds{});
  context_.host_memory.drop_saved(b, pages);
}

// Takes memory for pages that come from any processor. Returns the time when the last of it is free.
Nanoseconds HostTier::claim(Nanoseconds now, BlockIndex b, const PageMask& pages) {
  HostMemory& memory = context_.host_memory;
  const std::uint64_t wanted = pages.count();
  if (memory.free_pages() < wanted) {
    if (!context_.topology.has_ssd()) {
      throw_input_error("host memory is full: host.memory_bytes = {} of system '{}' holds less than the program needs",
                        context_.system.host.memory_bytes, context_.system.name);
    }
    reclaim_to(now, wanted, b);
  }
  const Nanoseconds ready = memory.take(wanted, now);
  context_.counters.host_waits += ready > now ? 1 : 0;
  memory.add(b, pages);

  const std::uint64_t low = memory.capacity_pages() * context_.system.host.watermark_scale_factor / 10000;
  if (memory.free_pages() < low && context_.topology.has_ssd()) reclaim_to(now, 2 * low, b);
  return ready;
}

// Evicts the least recently used units, except those of the spared block, until enough pages are free or about to be.
void HostTier::reclaim_to(Nanoseconds now, std::uint64_t free_pages, BlockIndex spared) {
  HostMemory& memory = context_.host_memory;
  while (memory.free_pages() < free_pages) {
    auto unit = memory.coldest(spared);
    if (!unit) break;
    // Consecutive units of one block are evicted together.
    const BlockIndex b = unit->block;
    PageMask pages;
    for (; unit && unit->block == b && memory.free_pages() < free_pages; unit = memory.coldest(spared)) {
      pages |= unit->pages;
      memory.remove(b, unit->pages);
    }
    push_out(now, b, pages);
  }
}

// Writes pages that left memory to the SSD, as far as it has no valid copy, and unmaps them.
void HostTier::push_out(Nanoseconds now, BlockIndex b, const PageMask& pages) {
  HostMemory& memory = context_.host_memory;
  ProcessorPages& host = context_.space.pages(b, kHost);
  host.mapped -= pages;
  host.writable -= pages;
  for (unsigned gpu = 0; gpu < context_.space.gpu_count(); ++gpu) {
    unmap(context_, b, gpu, pages - context_.space.pages(b, gpu_processor(gpu)).resident);
  }
  const PageMask written = pages - memory.saved(b) - context_.space.block(b).discarded;
  const Nanoseconds ready = pass(true, now, b, written);
  if (!written.empty()) memory.set_written_until(b, ready);
  context_.counters.host_reclaimed_pages += pages.count();
  context_.counters.host_clean_pages += (pages - written).count();
  memory.save(b, pages);
  memory.free_from(ready, pages.count());
  if (memory.saved_pages() * kBasePageBytes > context_.system.ssd.memory_bytes) {
    throw_input_error("the SSD is full: ssd.memory_bytes = {} of system '{}' holds less than the program needs",
                      context_.system.ssd.memory_bytes, context_.system.name);
  }
}

// Moves pages between memory and SSD, one request per run. Returns when the last request is done.
Nanoseconds HostTier::pass(bool write, Nanoseconds earliest, BlockIndex b, const PageMask& pages) {
  link::StorageQueue& queue = write ? context_.topology.ssd_write() : context_.topology.ssd_read();
  Counters& counters = context_.counters;
  const Nanoseconds busy_before = queue.busy_time();
  Nanoseconds end = earliest;
  pages.for_each_run([&](unsigned first, unsigned count) {
    const std::uint64_t bytes = count * kBasePageBytes;
    const link::RunTimes times = queue.submit(earliest, bytes);
    ++(write ? counters.ssd_writes : counters.ssd_reads);
    (write ? counters.ssd_write_bytes : counters.ssd_read_bytes) += bytes;
    if (!write && times.start > earliest) ++counters.ssd_waited_reads;
    end = times.end;
    if (context_.events != nullptr) {
      context_.events->on(StorageEvent{write, times.start, times.end, virtual_address(b, first), bytes});
    }
  });
  const auto busy = static_cast<std::uint64_t>((queue.busy_time() - busy_before).value);
  (write ? counters.ssd_write_busy_ns : counters.ssd_read_busy_ns) += busy;
  return end;
}

}  // namespace uvmsim::driver
