#include "sim/driver/host_faults.h"

namespace uvmsim::driver {

Nanoseconds HostFaults::touch(BlockIndex b, unsigned page, bool write, Nanoseconds now) {
  if (mapped(b, page, write)) return now;
  AddressSpace& space = context_.space;
  VaBlock& block = space.block(b);
  ProcessorPages& host = space.pages(b, kHost);
  PageMask faulted;
  faulted.set(page);

  PageMask thrashing;
  if (thrashing_.tracks(b)) {
    thrashing = thrashing_.pages(b);
    Thrashing::Verdict verdict = thrashing_.ask(b, faulted, kHost, now);
    if (!verdict.throttled.empty() && verdict.throttle_end > now) {
      // The faulting thread sleeps and tries again.
      now = verdict.throttle_end;
      verdict = thrashing_.ask(b, faulted, kHost, now);
    }
  }

  Work work(now);
  ++context_.counters.cpu_faults;
  const bool duplicate = !write && (block.hints.read_mostly || block.read_duplicated.test(page));
  const PageMask prefetched = prefetch_pages(context_, work, b, kHost, faulted, thrashing);
  const PageMask all = faulted | prefetched;
  const PageMask moved = (all - host.resident) & space.resident_anywhere(b);
  work.spend(context_.costs().cpu_fault_ns + context_.costs().cpu_fault_page_ns * (all - host.resident).count());
  residency_.to_host(work, b, {faulted, prefetched, TransferCause::kFault, duplicate});
  host.mapped |= all;
  if (!duplicate) host.writable |= all - block.read_duplicated;
  if (thrashing_.interested() && !moved.empty() && !duplicate) {
    thrashing_.on_migration(b, moved, kHost, work.done());
  }
  const Nanoseconds end = work.done();  // the driver waits for the copy before it maps
  if (context_.events != nullptr) {
    context_.events->on(CpuFaultEvent{now, end, virtual_address(b, page), write});
  }
  return end;
}

}  // namespace uvmsim::driver
