// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/access_costs.h"

#include <algorithm>

#include "sim/gmmu/entry_size.h"

namespace uvmsim::engine {

namespace {

// Who uses them, and where they are.
struct Ends {
  unsigned gpu;
  ProcessorId holder;
};

PageMask remote_pages(const AddressSpace& space, BlockIndex block, const Ends& ends) {
  const ProcessorPages& mine = space.pages(block, gpu_processor(ends.gpu));
  return (mine.mapped - mine.resident) & space.pages(block, ends.holder).resident;
}

bool touches_remote_pages(const KernelWork& work, const AddressSpace& space, const Ends& ends) {
  bool found = false;
  work.for_each_segment([&](const Segment& segment, bool) {
    found = found || remote_pages(space, segment.block, ends).intersects(PageMask::range(segment.first, segment.count));
  });
  return found;
}

// Adds the part of bytes [begin, end) of the placement's memory that lies on remote pages.
void add_bytes(link::RemoteTraffic& traffic, const layout::Placement& placement, const AddressSpace& space,
               const Ends& ends, std::uint64_t begin, std::uint64_t end, trace::AccessMode mode) {
  const bool reads = mode != trace::AccessMode::kWrite, writes = mode != trace::AccessMode::kRead;
  std::uint64_t piece = 0;  // bytes up to `begin` that follow one another
  const auto close = [&] {
    if (piece != 0) traffic.add(piece, reads, writes);
    piece = 0;
  };
  while (begin < end) {
    const std::uint64_t block_end = std::min(end, (begin / kBlockBytes + 1) * kBlockBytes);
    const PageMask remote = remote_pages(space, placement.blocks[begin / kBlockBytes], ends);
    while (begin < block_end) {
      const std::uint64_t page_end = std::min(block_end, (begin / kBasePageBytes + 1) * kBasePageBytes);
      if (remote.test(static_cast<unsigned>(begin % kBlockBytes / kBasePageBytes))) {
        piece += page_end - begin;
      } else {
        close();
      }
      begin = page_end;
    }
  }
  close();
}

}  // namespace

link::RemoteTraffic remote_traffic(const KernelWork& work, const trace::Kernel& kernel, const layout::Layout& layout,
                                   const AddressSpace& space, unsigned gpu, ProcessorId holder,
                                   std::uint32_t quantum_bytes) {
  const Ends ends{gpu, holder};
  link::RemoteTraffic traffic;
  const std::uint64_t width = std::max<std::uint64_t>(kernel.bytes_per_thread_access, 1);
  const std::uint64_t touched = (width + link::kSectorBytes - 1) / link::kSectorBytes * link::kSectorBytes;
  for (const PageRef& page : work.touches) {
    if (remote_pages(space, page.block, ends).test(page.page)) traffic.add(touched, !page.write, page.write);
  }
  if (!touches_remote_pages(work, space, ends)) return traffic;
  const auto add = [&](trace::ObjectId id, const std::vector<trace::Extent>& extents) {
    const layout::Placement& placement = layout.find(id);
    if (!placement.managed) return;
    for (const trace::Extent& extent : extents) {
      const std::uint64_t end = std::min((extent.first + extent.count) * quantum_bytes, placement.bytes);
      add_bytes(traffic, placement, space, ends, placement.offset + extent.first * quantum_bytes,
                placement.offset + end, extent.mode);
    }
  };
  const bool by_phase = !kernel.phases.empty() && work.sections.size() == kernel.phases.size();
  if (!by_phase) {
    for (const trace::ObjectAccess& access : kernel.accesses) add(access.object, access.extents);
    return traffic;
  }
  for (const trace::Phase& phase : kernel.phases) {
    for (const trace::PhaseAccess& access : phase.accesses) add(kernel.accesses[access.slot].object, access.extents);
  }
  return traffic;
}

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
