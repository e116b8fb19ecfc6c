// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/access_costs.h"

#include <algorithm>

#include "sim/engine/remote_traffic.h"
#include "sim/gmmu/entry_size.h"

namespace uvmsim::engine {

Nanoseconds AccessCosts::translation_stall(const KernelWork& work, unsigned gpu) {
  driver::GpuState& state = process_.machine.gpus[gpu];
  gmmu::Gmmu& mmu = state.mmu;
  mmu.count_for(process_.counters().gmmu);
  const std::uint32_t sms = std::clamp<std::uint32_t>(
      (work.lanes + work.lanes_per_sm_group - 1) / work.lanes_per_sm_group, 1, mmu.sm_count());
  const bool root_chunks = !state.memory.small_chunks();
  const auto sizes_of = [&](const VaBlock& block, const ProcessorPages& mine) {
    return gmmu::choose_entry_sizes(mine.mapped, mine.writable, block.end_page,
                                    root_chunks && block.full_size() ? gmmu::EntrySize::k2M : gmmu::EntrySize::k64K);
  };
  Nanoseconds stall{};
  work.for_each_segment([&](const Segment& segment, bool) {
    const ProcessorPages& mine = space_.pages(segment.block, gpu_processor(gpu));
    const PageMask touched = PageMask::range(segment.first, segment.count) & mine.mapped;
    if (touched.empty()) return;
    stall += mmu.touch(segment.block, touched, sizes_of(space_.block(segment.block), mine), sms);
  });
  for (const PageRef& page : work.touches) {
    const ProcessorPages& mine = space_.pages(page.block, gpu_processor(gpu));
    if (!mine.mapped.test(page.page)) continue;
    mmu.translate(0, page.block, page.page, sizes_of(space_.block(page.block), mine).of(page.page));
  }
  return stall;
}

// What is used in place is the last that leaves host memory.
void AccessCosts::use_host_memory(const KernelWork& work, unsigned gpu) {
  if (!process_.machine.host.limited()) return;
  work.for_each_touched([&](BlockIndex b, const PageMask& pages) {
    const ProcessorPages& mine = space_.pages(b, gpu_processor(gpu));
    process_.machine.host.use(b, (pages & mine.mapped) - mine.resident);
  });
}

Nanoseconds AccessCosts::remote_time(const KernelWork& work, const trace::Kernel& kernel, Nanoseconds start) {
  const auto gpu = static_cast<unsigned>(kernel.device);
  Machine& machine = process_.machine;
  use_host_memory(work, gpu);
  Nanoseconds end = start;
  for (unsigned p = 0; p < space_.processor_count(); ++p) {
    const ProcessorId holder{static_cast<std::uint8_t>(p)};
    if (holder == gpu_processor(gpu)) continue;
    const link::RemoteTraffic traffic =
        remote_traffic(work, kernel, layout_, space_, gpu, holder, process_.header.quantum_bytes);
    if (traffic.bytes() == 0) continue;
    process_.counters().remote_access_bytes += traffic.bytes();
    if (holder.is_host()) {
      end = machine.remote_lanes[gpu].carry(end, traffic);
    } else {
      const std::uint64_t rate = machine.topology.peer(holder.gpu(), gpu)->rates.remote_read_bytes_per_us;
      end += Nanoseconds(static_cast<std::int64_t>(traffic.bytes() * 1000 / rate));
    }
  }
  count(work, gpu);
  return end - start;
}

// Counters see requests of 128 bytes. Their notifications are serviced when the kernel ends.
void AccessCosts::count(const KernelWork& work, unsigned gpu) {
  driver::AccessCounters& counters = driver_.access_counters();
  if (!counters.enabled(gpu)) return;
  constexpr std::uint64_t kRequestsPerPage = kBasePageBytes / 128;
  work.for_each_segment([&](const Segment& segment, bool) {
    const ProcessorPages& mine = space_.pages(segment.block, gpu_processor(gpu));
    const PageMask remote = (PageMask::range(segment.first, segment.count) & mine.mapped) - mine.resident;
    counters.on_remote_access(gpu, segment.block, remote, remote.count() * kRequestsPerPage);
  });
}

}  // namespace uvmsim::engine
