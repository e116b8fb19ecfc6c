// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/remote_traffic.h"

#include <algorithm>

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

}  // namespace uvmsim::engine
