#include "sim/driver/host_tier.h"

#include <algorithm>
#include <functional>

#include "sim/common/check.h"
#include "sim/common/error.h"

namespace uvmsim::driver {

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
  const Nanoseconds earliest = std::max(claim(now, b, missing), written_until(b));
  link::StorageQueue& queue = context_.topology.ssd_read();
  Counters& counters = context_.counters;
  const Nanoseconds busy_before = queue.busy_time();
  Nanoseconds end{};
  missing.for_each_run([&](unsigned first, unsigned count) {
    const std::uint64_t bytes = count * kBasePageBytes;
    const link::RunTimes times = queue.submit(earliest, bytes);
    ++counters.ssd_reads;
    counters.ssd_waited_reads += times.start > earliest ? 1 : 0;
    counters.ssd_read_bytes += bytes;
    end = times.end;
    if (context_.events != nullptr) {
      context_.events->on(StorageEvent{false, times.start, times.end, virtual_address(b, first), bytes});
    }
  });
  counters.ssd_read_busy_ns += static_cast<std::uint64_t>((queue.busy_time() - busy_before).value);
  return end;
}

void HostTier::leave(BlockIndex b, const PageMask& pages, Nanoseconds at) {
  HostMemory& memory = context_.host_memory;
  if (!memory.limited()) return;
  const PageMask gone = memory.in_memory(b) & pages;
  if (gone.empty()) return;
  memory.remove(b, gone);
  free_from(at, gone.count());
}

void HostTier::drop(BlockIndex b, const PageMask& pages) {
  leave(b, pages, Nanoseconds{});
  context_.host_memory.drop_saved(b, pages);
}

// Memory for pages that come in now, of which the caller knows from where. Returns when the last of it is free.
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
  Nanoseconds ready = now;
  const std::uint64_t free_now = memory.free_pages() - freed_pages_;
  for (std::uint64_t missing = wanted - std::min(wanted, free_now); missing > 0;) {
    Freed& earliest = freed_.front();
    ready = std::max(ready, earliest.ready);
    const std::uint64_t taken = std::min(missing, earliest.pages);
    missing -= taken;
    freed_pages_ -= taken;
    earliest.pages -= taken;
    if (earliest.pages == 0) {
      std::pop_heap(freed_.begin(), freed_.end(), std::greater<>{});
      freed_.pop_back();
    }
  }
  context_.counters.host_waits += ready > now ? 1 : 0;
  memory.add(b, pages);

  const std::uint64_t low = memory.capacity_pages() * context_.system.host.watermark_scale_factor / 10000;
  if (memory.free_pages() < low && context_.topology.has_ssd()) reclaim_to(now, 2 * low, b);
  return ready;
}

// Pushes out what was used longest ago, but nothing of the spared block, until so many pages are free or on their way.
void HostTier::reclaim_to(Nanoseconds now, std::uint64_t free_pages, BlockIndex spared) {
  HostMemory& memory = context_.host_memory;
  while (memory.free_pages() < free_pages) {
    auto unit = memory.coldest(spared);
    if (!unit) break;
    // Units of one block that follow one another in age go together.
    const BlockIndex b = unit->block;
    PageMask pages;
    for (; unit && unit->block == b && memory.free_pages() < free_pages; unit = memory.coldest(spared)) {
      pages |= unit->pages;
      memory.remove(b, unit->pages);
    }
    push_out(now, b, pages);
  }
}

// The pages have left memory for the SSD.
void HostTier::push_out(Nanoseconds now, BlockIndex b, const PageMask& pages) {
  HostMemory& memory = context_.host_memory;
  ProcessorPages& host = context_.space.pages(b, kHost);
  host.mapped -= pages;
  host.writable -= pages;
  for (unsigned gpu = 0; gpu < context_.space.gpu_count(); ++gpu) {
    unmap_from_gpu(context_, b, gpu, pages - context_.space.pages(b, gpu_processor(gpu)).resident);
  }
  const PageMask written = pages - memory.saved(b) - context_.space.block(b).discarded;
  link::StorageQueue& queue = context_.topology.ssd_write();
  Counters& counters = context_.counters;
  const Nanoseconds busy_before = queue.busy_time();
  Nanoseconds ready = now;
  written.for_each_run([&](unsigned first, unsigned count) {
    const std::uint64_t bytes = count * kBasePageBytes;
    const link::RunTimes times = queue.submit(now, bytes);
    ++counters.ssd_writes;
    counters.ssd_write_bytes += bytes;
    ready = times.end;
    if (context_.events != nullptr) {
      context_.events->on(StorageEvent{true, times.start, times.end, virtual_address(b, first), bytes});
    }
  });
  if (!written.empty()) written_until(b) = ready;
  counters.ssd_write_busy_ns += static_cast<std::uint64_t>((queue.busy_time() - busy_before).value);
  counters.host_reclaimed_pages += pages.count();
  counters.host_clean_pages += (pages - written).count();
  memory.save(b, pages);
  free_from(ready, pages.count());
  if (memory.saved_pages() * kBasePageBytes > context_.system.ssd.memory_bytes) {
    throw_input_error("the SSD is full: ssd.memory_bytes = {} of system '{}' holds less than the program needs",
                      context_.system.ssd.memory_bytes, context_.system.name);
  }
}

void HostTier::free_from(Nanoseconds ready, std::uint64_t pages) {
  freed_pages_ += pages;
  freed_.push_back({ready, pages});
  std::push_heap(freed_.begin(), freed_.end(), std::greater<>{});
}

Nanoseconds& HostTier::written_until(BlockIndex b) {
  const auto index = static_cast<std::size_t>(b.value);
  if (index >= written_until_.size()) written_until_.resize(std::max(index + 1, written_until_.size() * 2));
  return written_until_[index];
}

void HostTier::add_state(StateDigest& digest) const {
  context_.host_memory.add_state(digest);
  std::vector<Freed> ahead;
  for (const Freed& freed : freed_) {
    if (digest.ahead(freed.ready)) ahead.push_back(freed);
  }
  std::sort(ahead.begin(), ahead.end(), [](const Freed& a, const Freed& b) { return b > a; });
  for (std::size_t i = 0; i < ahead.size();) {  // those that are ready together are one
    const Nanoseconds ready = ahead[i].ready;
    std::uint64_t pages = 0;
    for (; i < ahead.size() && ahead[i].ready == ready; ++i) pages += ahead[i].pages;
    digest.add_future(ready);
    digest.add(pages);
  }
  for (std::size_t b = 0; b < written_until_.size(); ++b) {
    if (!digest.ahead(written_until_[b])) continue;
    digest.add(b);
    digest.add_future(written_until_[b]);
  }
}

}  // namespace uvmsim::driver
