// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/system_memory.h"

#include "sim/config/coherence.h"
#include "sim/driver/departures.h"
#include "sim/driver/fault_service.h"

namespace uvmsim::driver {

SystemMemory::SystemMemory(DriverContext& context)
    : context_(context),
      in_place_(config::uses_system_memory_in_place(context.system)),
      on_gpu_(config::populates_on_gpu(context.system)),
      pages_per_host_page_(static_cast<unsigned>(context.system.coherence.host_page_bytes / kBasePageBytes)) {}

std::uint64_t SystemMemory::host_page_count(const PageMask& pages) const {
  // The last page of a mapping may be cut by its end.
  return (pages.count() + pages_per_host_page_ - 1) / pages_per_host_page_;
}

void SystemMemory::map_everywhere(BlockIndex b, const PageMask& pages, bool writable) {
  for (unsigned gpu = 0; gpu < context_.space.gpu_count(); ++gpu) {
    ProcessorPages& theirs = context_.space.pages(b, gpu_processor(gpu));
    theirs.mapped |= pages;
    if (writable) theirs.writable |= pages;
  }
}

void SystemMemory::put_on_host(BlockIndex b, const PageMask& pages, bool writable) {
  ProcessorPages& host = context_.space.pages(b, kHost);
  context_.host_resident_pages += (pages - host.resident).count();
  context_.space.block(b).host_backed |= pages;
  host.resident |= pages;
  host.mapped |= pages;
  if (writable) host.writable |= pages;
  map_everywhere(b, pages, writable);
}

void SystemMemory::put_on_gpu(unsigned gpu, BlockIndex b, const PageMask& pages, ResidencyChange change,
                              Nanoseconds at) {
  ProcessorPages& mine = context_.space.pages(b, gpu_processor(gpu));
  mine.resident |= pages;
  context_.gpus[gpu].add_resident(context_.space.block(b), pages.count());
  map_everywhere(b, pages, true);
  emit_residency(context_, gpu, at);
  if (context_.accounts != nullptr) tell_residency(*context_.accounts, gpu, b, pages, change, at);
}

void SystemMemory::pin(BlockIndex b) { put_on_host(b, context_.space.block(b).extent(), true); }

// Takes memory of the GPU for the block; returns false if there is none.
bool SystemMemory::takes(unsigned gpu, BlockIndex b) {
  GpuMemory& memory = context_.gpus[gpu].memory;
  if (!on_gpu_) return false;
  if (memory.whole(b).valid()) return true;
  const ChunkId chunk = memory.allocate();
  if (!chunk.valid()) return false;
  memory.chunk(chunk).state = ChunkState::kForeign;
  memory.bind_whole(b, chunk);
  ++context_.counters.chunk_allocations;
  return true;
}

// Returns the prefetcher's additions to faulted pages, in whole pages of the host.
PageMask SystemMemory::surroundings(Work& work, BlockIndex b, const PageMask& faulted, const PageMask& there,
                                    const PageMask& available) {
  const PageMask thrashing;
  policy::FaultedBlock faulted_block = describe_fault(context_, b, there, faulted, thrashing, work.cpu);
  faulted_block.resident_nowhere = there.empty();
  const PageMask wanted = context_.prefetcher.prefetch(faulted_block);
  work.cpu += context_.prefetch_decision_cost;
  return host_pages(b, wanted) & available;
}

Moved SystemMemory::populate(Work& work, unsigned gpu, BlockIndex b, const PageMask& reads, const PageMask& writes) {
  AddressSpace& space = context_.space;
  const ProcessorPages& host = space.pages(b, kHost);
  const config::CoherenceConfig& costs = context_.system.coherence;
  const PageMask untouched = space.block(b).extent() - space.resident_anywhere(b);
  const PageMask fresh = host_pages(b, reads | writes) & untouched;
  // If the CPU maps the page of zeros, a write allocates memory on the host.
  const PageMask zeros = host.resident - host.writable;
  const PageMask copied = host_pages(b, writes) & zeros;
  const bool rests = !fresh.empty() && context_.gpus[gpu].migrator != nullptr &&
                     ask_migrator(context_, work, gpu, b, fresh & reads, fresh & writes).pages.intersects(fresh);
  const bool local = !fresh.empty() && !rests && takes(gpu, b);
  const PageMask to_gpu =
      local ? fresh | surroundings(work, b, fresh, space.pages(b, gpu_processor(gpu)).resident, untouched) : PageMask{};
  PageMask to_host = local ? PageMask{} : fresh;
  if (!to_host.empty()) to_host |= surroundings(work, b, to_host, host.writable, untouched);
  PageMask replaced = copied;
  if (!replaced.empty()) replaced |= surroundings(work, b, copied, host.writable, zeros);

  if (!to_gpu.empty()) {
    work.spend((batch_pays_ ? costs.first_touch_ns : 0) + costs.first_touch_page_ns * host_page_count(to_gpu));
    batch_pays_ = false;
    context_.counters.populated_pages += to_gpu.count();
    context_.counters.prefetched_pages += (to_gpu - fresh).count();
    put_on_gpu(gpu, b, to_gpu, ResidencyChange::kPopulated, work.cpu);
  }
  if (const PageMask on_host = to_host | replaced; !on_host.empty()) {
    work.spend((batch_pays_ ? costs.host_touch_ns : 0) + costs.host_touch_page_ns * host_page_count(on_host));
    batch_pays_ = false;
    put_on_host(b, on_host, true);
  }
  return {.populated = !to_gpu.empty()};
}

bool SystemMemory::cpu_may(BlockIndex b, unsigned page, bool write) const {
  const ProcessorPages& host = context_.space.pages(b, kHost);
  if (host.resident.test(page)) return !write || host.writable.test(page);
  return context_.space.resident_anywhere(b).test(page);
}

Nanoseconds SystemMemory::cpu_touch(BlockIndex b, unsigned page, bool write, Nanoseconds now) {
  VaBlock& block = context_.space.block(b);
  const PageMask pages = host_pages(b, PageMask::range(page, 1));
  put_on_host(b, pages, write);
  if (write) block.cpu_wrote |= pages;
  ++context_.counters.cpu_faults;
  const Nanoseconds end = now + Nanoseconds(static_cast<std::int64_t>(
                                    context_.system.coherence.cpu_first_touch_page_ns * host_page_count(pages)));
  if (context_.events != nullptr) context_.events->on(CpuFaultEvent{now, end, virtual_address(b, page), write});
  return end;
}

std::uint64_t SystemMemory::cpu_detour_ns(BlockIndex b, unsigned page, bool write) const {
  if (context_.space.pages(b, kHost).resident.test(page)) return 0;
  const config::CoherenceConfig& costs = context_.system.coherence;
  return write ? costs.cpu_write_gpu_page_ns : costs.cpu_read_gpu_page_ns;
}

PageMask SystemMemory::coming(unsigned gpu, BlockIndex b, unsigned page) {
  const PageMask& on_host = context_.space.pages(b, kHost).resident;
  const PageMask named = host_pages(b, PageMask::range(page, 1)) & on_host;
  if (context_.space.block(b).kind != MemoryKind::kSystem || named.empty() || !takes(gpu, b)) return {};
  Work unpaid{Nanoseconds{}};
  return named | surroundings(unpaid, b, named, context_.space.pages(b, gpu_processor(gpu)).resident, on_host);
}

std::uint64_t SystemMemory::move_ns(BlockIndex b, const PageMask& pages) const {
  const config::CoherenceConfig& costs = context_.system.coherence;
  const PageMask used = pages & context_.space.block(b).cpu_wrote;
  return costs.notification_ns + costs.moved_used_page_ns * host_page_count(used) +
         costs.moved_page_ns * host_page_count(pages - used);
}

void SystemMemory::arrive(unsigned gpu, BlockIndex b, const PageMask& pages, Nanoseconds start, Nanoseconds end) {
  ProcessorPages& host = context_.space.pages(b, kHost);
  const PageMask moved = pages & host.resident;
  if (moved.empty()) return;
  const PageMask copied = moved & host.writable;  // pages of zeros are not copied but created on the GPU
  context_.counters.populated_pages += (moved - copied).count();
  copied.for_each_run([&](unsigned first, unsigned count) {
    const std::uint64_t bytes = count * kBasePageBytes;
    ++context_.counters.htod_counter_transactions;
    context_.counters.htod_counter_bytes += bytes;
    if (context_.events == nullptr) return;
    TransferEvent run{};
    run.device = static_cast<std::int32_t>(gpu);
    run.direction = TransferDirection::kHostToDevice;
    run.cause = TransferCause::kAccessCounter;
    run.start = start;
    run.end = end;
    run.address = virtual_address(b, first);
    run.bytes = bytes;
    context_.events->on(run);
  });
  context_.host_resident_pages -= moved.count();
  host.resident -= moved;
  host.mapped -= moved;
  host.writable -= moved;
  context_.space.block(b).cpu_wrote -= moved;
  put_on_gpu(gpu, b, moved, ResidencyChange::kLoaded, end);
}

}  // namespace uvmsim::driver
