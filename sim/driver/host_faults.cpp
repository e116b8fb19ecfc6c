// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/host_faults.h"

#include <algorithm>

#include "sim/driver/mappings.h"

namespace uvmsim::driver {

namespace {

// A throttled thread sleeps at least this long, so that time moves on even if the throttle window is configured to 0.
constexpr Nanoseconds kShortestNap(1000);

}  // namespace

// Notes the use, and a write, as the accessed and dirty bits of the CPU's page tables do.
void HostFaults::note_use(BlockIndex b, unsigned page, bool write) {
  const PageMask used = PageMask::range(page, 1);
  context_.host_memory.use(b, used);
  if (write) context_.host_memory.drop_saved(b, used);
}

Nanoseconds HostFaults::touch(BlockIndex b, unsigned page, bool write, Nanoseconds now) {
  if (mapped(b, page, write)) return now;
  if (in_place(b)) return context_.system_memory->cpu_touch(b, page, write, now);
  AddressSpace& space = context_.space;
  VaBlock& block = space.block(b);
  ProcessorPages& host = space.pages(b, kHost);
  PageMask faulted;
  faulted.set(page);

  if (thrashing_.pins_expired(now)) expire_pins(context_, thrashing_, now);
  PageMask thrashing;
  Thrashing::Verdict verdict;
  if (thrashing_.tracks(b)) {
    verdict = thrashing_.ask(b, faulted, kHost, now);
    thrashing = thrashing_.pages(b);
    if (!verdict.throttled.empty()) return std::max(verdict.throttle_end, now + kShortestNap);
  }

  Work work(now);
  ++context_.counters.cpu_faults;
  const BlockPart part = space.part_of(b, page);
  const bool duplicate = !write && (part.hints.read_mostly || block.read_duplicated.test(page));
  const PageMask read_only = write ? context_.whole_pages(b, faulted) - host.writable : PageMask{};
  const PageMask prefetched = prefetch_pages(context_, work, b, part, kHost, faulted, thrashing, read_only).coming;
  const PageMask all = faulted | prefetched;
  const PageMask moved = (all - host.resident) & space.resident_anywhere(b);
  const unsigned arrived = (all - host.resident).count();
  // Besides the written page, other pages of read-mostly memory are copied.
  const PageMask copies = duplicate ? all : part.hints.read_mostly ? prefetched - read_only : PageMask{};
  if (!copies.empty()) end_writing(context_, thrashing_, work, b, copies);
  if (duplicate || copies.empty()) {
    residency_.to_host(work, b, {faulted, prefetched, TransferCause::kFault, duplicate});
  } else {
    residency_.to_host(work, b, {{}, copies, TransferCause::kFault, true});
    residency_.to_host(work, b, {faulted, prefetched - copies, TransferCause::kFault, false});
  }
  if (part.hints.read_mostly || duplicate) {
    thrashing_.reset(b, moved);
  } else if (!moved.empty()) {
    thrashing_.on_migration(b, moved, kHost, work.cpu);
  }
  // The driver waits for the copy before it maps the pages.
  work.cpu = work.done();
  work.spend(arrived == 0 ? context_.costs().cpu_remap_ns
                          : context_.costs().cpu_fault_ns + context_.costs().cpu_fault_page_ns * arrived);
  host.mapped |= all;
  if (!duplicate) host.writable |= all - copies - block.read_duplicated;
  if (write) block.discarded -= faulted;
  if (context_.host_memory.limited()) note_use(b, page, write);
  map_pinned(context_, work, b, verdict.mappings);
  const Nanoseconds end = work.done();
  if (context_.events != nullptr) context_.events->on(CpuFaultEvent{now, end, virtual_address(b, page), write});
  return end;
}

}  // namespace uvmsim::driver
