// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/access_costs.h"

#include <algorithm>
#include <vector>

#include "sim/engine/remote_use.h"
#include "sim/gmmu/entry_size.h"

namespace uvmsim::engine {

namespace {

// The GPU that uses remote pages, and the processor that holds them.
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

std::uint64_t multiplied(std::uint64_t amount, std::uint64_t thousandths) {
  return static_cast<std::uint64_t>(WideUnsigned{amount} * thousandths / 1000);
}

// Adds the part of bytes [begin, end) of the placement's memory that lies on remote pages.
void add_bytes(link::RemoteTraffic& traffic, const layout::Placement& placement, const AddressSpace& space,
               const Ends& ends, std::uint64_t begin, std::uint64_t end, trace::AccessMode mode, const RemoteUse& how) {
  const bool reads = mode != trace::AccessMode::kWrite, writes = mode != trace::AccessMode::kRead;
  std::uint64_t piece = 0;  // contiguous remote bytes up to `begin`
  const auto close = [&] {
    if (piece != 0 && reads && !how.atomics) {
      traffic.add_reads(multiplied(piece, how.times_thousandths), how.request_bytes);
    }
    if (piece != 0 && writes && how.word_times_thousandths == 0) traffic.add(piece, false, true);
    if (piece != 0 && writes && how.word_times_thousandths != 0) {
      traffic.add_words(multiplied(piece / link::RemoteTraffic::kWordBytes, how.word_times_thousandths), how.atomics);
    }
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
                                   const AddressSpace& space, const config::GpuConfig& described, unsigned gpu,
                                   ProcessorId holder, std::uint32_t quantum_bytes, std::uint64_t images) {
  const Ends ends{gpu, holder};
  link::RemoteTraffic traffic;
  const std::uint64_t width = std::max<std::uint64_t>(kernel.bytes_per_thread_access, 1);
  const std::uint64_t touched = (width + link::kSectorBytes - 1) / link::kSectorBytes * link::kSectorBytes;
  for (const PageRef& page : work.touches) {
    if (remote_pages(space, page.block, ends).test(page.page)) traffic.add(touched, !page.write, page.write);
  }
  if (!touches_remote_pages(work, space, ends)) return traffic;
  const auto add = [&](link::RemoteTraffic& to, trace::ObjectId id, const std::vector<trace::Extent>& extents,
                       const RemoteUse& how) {
    const layout::Placement& placement = layout.find(id);
    if (!placement.managed) return;
    for (const trace::Extent& extent : extents) {
      const std::uint64_t end = std::min((extent.first + extent.count) * quantum_bytes, placement.bytes);
      add_bytes(to, placement, space, ends, placement.offset + extent.first * quantum_bytes, placement.offset + end,
                extent.mode, how);
    }
  };
  const std::vector<RemoteUse> uses = remote_use(kernel, accessed_bytes(kernel, quantum_bytes), images, described);
  // Phases show what is read again, if the kernel's structure is not known.
  const bool by_structure = !std::ranges::all_of(uses, &RemoteUse::plain);
  const bool by_phase = !by_structure && !kernel.phases.empty() && work.sections.size() == kernel.phases.size();
  link::RemoteTraffic by_phases = traffic;
  for (std::size_t slot = 0; slot < kernel.accesses.size(); ++slot) {
    add(traffic, kernel.accesses[slot].object, kernel.accesses[slot].extents, uses[slot]);
  }
  if (!by_phase) return traffic;
  for (const trace::Phase& phase : kernel.phases) {
    for (const trace::PhaseAccess& access : phase.accesses) {
      add(by_phases, kernel.accesses[access.slot].object, access.extents, uses[access.slot]);
    }
  }
  // Every phase that touches part of a quantum counts all of it. The sum is therefore limited to what the GPU's memory
  // can move in the kernel's duration.
  const auto moved = static_cast<std::uint64_t>(WideUnsigned(std::max<std::int64_t>(0, kernel.duration_ns)) *
                                                described.memory_bytes_per_us / 1000);
  const std::uint64_t most = std::max(traffic.bytes(), moved);
  return by_phases.bytes() <= most ? by_phases : by_phases.part(most, by_phases.bytes());
}

Nanoseconds AccessCosts::translation_stall(const KernelWork& work, unsigned gpu) {
  driver::GpuState& state = process_.machine.gpus[gpu];
  gmmu::Gmmu& mmu = state.mmu;
  mmu.count_for(process_.counters().gmmu);
  const std::uint32_t sms = std::clamp<std::uint32_t>(
      (work.resident_units + work.units_per_block - 1) / work.units_per_block, 1, mmu.sm_count());
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

// Marks host memory that the kernel uses in place as used now, so that it is the last to leave for the SSD.
void AccessCosts::use_host_memory(const KernelWork& work, unsigned gpu) {
  if (!process_.machine.host.limited()) return;
  work.for_each_touched([&](BlockIndex b, const PageMask& pages) {
    const ProcessorPages& mine = space_.pages(b, gpu_processor(gpu));
    process_.machine.host.use(b, (pages & mine.mapped) - mine.resident);
  });
}

// Returns null if the link is not coherent.
CoherentPass* AccessCosts::coherent_pass() {
  driver::CoherentCounters* const counters = driver_.coherent_counters();
  if (counters == nullptr) return nullptr;
  if (!coherent_pass_) coherent_pass_.emplace(process_, layout_, *counters);
  return &*coherent_pass_;
}

InPlaceAtStart AccessCosts::in_place_at_start(const KernelWork& work, unsigned gpu) {
  const CoherentPass* const pass = coherent_pass();
  return pass == nullptr ? InPlaceAtStart{} : pass->in_place(work, gpu);
}

Nanoseconds AccessCosts::remote_end(const KernelWork& work, const trace::Kernel& kernel, Nanoseconds start,
                                    Nanoseconds computed, Nanoseconds faulted, const InPlaceAtStart* at_start,
                                    std::uint64_t images) {
  const auto gpu = static_cast<unsigned>(kernel.device);
  const config::GpuConfig& described = process_.options.system.gpus[gpu];
  Machine& machine = process_.machine;
  use_host_memory(work, gpu);
  Nanoseconds end = computed;
  CoherentPass* const pass = coherent_pass();
  const bool coherent = pass != nullptr;
  if (coherent) end = pass->end(work, kernel, start, computed, faulted, at_start, images);
  std::uint64_t bytes = 0;
  for (unsigned p = 0; p < space_.processor_count(); ++p) {
    const ProcessorId holder{static_cast<std::uint8_t>(p)};
    if (holder == gpu_processor(gpu) || (coherent && holder.is_host())) continue;
    const link::RemoteTraffic traffic =
        remote_traffic(work, kernel, layout_, space_, described, gpu, holder, process_.header.quantum_bytes, images);
    if (traffic.bytes() == 0) continue;
    bytes += traffic.bytes();
    if (!holder.is_host()) {
      const std::uint64_t rate = machine.topology.peer(holder.gpu(), gpu)->rates.remote_read_bytes_per_us;
      end = std::max(end, start + Nanoseconds(static_cast<std::int64_t>(traffic.bytes() * 1000 / rate)));
      continue;
    }
    link::RemoteLane& lane = machine.remote_lanes[gpu];
    end = std::max(end, start + waiting(traffic, kernel, lane, described));
    // Kernels with tiles compute and store all of them at about the same time; other kernels store all along.
    if (is_tiled(kernel) && traffic.stored_words == 0 && traffic.atomics == 0) {
      end = std::max(end, lane.carry(start, traffic.reads()));
      end = lane.carry(end, traffic.writes());
    } else {
      end = std::max(end, lane.carry(start, traffic));
    }
  }
  process_.counters().remote_access_bytes += bytes;
  if (!coherent) count(work, kernel, gpu, images);
  return end;
}

// Returns the time that warps wait for their reads: the bytes that they have under way at once arrive in one latency,
// so that few warps wait most of the time. Near the link's rate requests also wait for one another: if both times are
// equal, the result is a quarter longer (measured: configs/measurements/remote_stream_h200.txt, grid by block).
Nanoseconds AccessCosts::waiting(const link::RemoteTraffic& traffic, const trace::Kernel& kernel,
                                 const link::RemoteLane& lane, const config::GpuConfig& described) const {
  const WideUnsigned latency = process_.costs().remote_latency_ns;
  const WideUnsigned waits = latency * traffic.read_bytes / bytes_under_way(kernel, described);
  const auto passes = static_cast<WideUnsigned>(lane.time(traffic.reads()).value);
  const WideUnsigned longer = std::max(waits, passes), shorter = std::min(waits, passes);
  if (waits == 0) return {};
  return Nanoseconds(static_cast<std::int64_t>(longer + shorter * shorter / (4 * longer)));
}

// Counts the accesses in access counters, as requests of 128 bytes. The driver services the notifications when the
// kernel ends.
void AccessCosts::count(const KernelWork& work, const trace::Kernel& kernel, unsigned gpu, std::uint64_t images) {
  driver::AccessCounters& counters = driver_.access_counters();
  if (!counters.enabled(gpu)) return;
  const std::uint64_t quantum_bytes = process_.header.quantum_bytes;
  const config::GpuConfig& described = process_.options.system.gpus[gpu];
  const auto add = [&](BlockIndex block, const PageMask& pages, std::uint64_t times_thousandths) {
    constexpr std::uint64_t kRequestsPerPage = kBasePageBytes / link::kLineBytes;
    const ProcessorPages& mine = space_.pages(block, gpu_processor(gpu));
    const PageMask remote = (pages & mine.mapped) - mine.resident;
    counters.on_remote_access(gpu, block, remote, multiplied(remote.count() * kRequestsPerPage, times_thousandths));
  };
  const std::vector<RemoteUse> uses = remote_use(kernel, accessed_bytes(kernel, quantum_bytes), images, described);
  if (std::ranges::all_of(uses, &RemoteUse::plain)) {
    work.for_each_segment(
        [&](const Segment& segment, bool) { add(segment.block, PageMask::range(segment.first, segment.count), 1000); });
    return;
  }
  for (std::size_t slot = 0; slot < kernel.accesses.size(); ++slot) {
    const layout::Placement& placement = layout_.find(kernel.accesses[slot].object);
    if (!placement.managed) continue;
    for (const trace::Extent& extent : kernel.accesses[slot].extents) {
      const std::uint64_t read =
          extent.mode == trace::AccessMode::kWrite || uses[slot].atomics ? 0 : uses[slot].times_thousandths;
      const std::uint64_t written = extent.mode == trace::AccessMode::kRead
                                        ? 0
                                        : std::max<std::uint64_t>(1000, uses[slot].word_times_thousandths);
      const std::uint64_t first = placement.offset + extent.first * quantum_bytes;
      const std::uint64_t last =
          placement.offset + std::min((extent.first + extent.count) * quantum_bytes, placement.bytes);
      for (std::uint64_t begin = first; begin < last;) {
        const std::uint64_t end = std::min(last, (begin / kBlockBytes + 1) * kBlockBytes);
        const auto page = static_cast<unsigned>(begin % kBlockBytes / kBasePageBytes);
        const auto pages = static_cast<unsigned>((end - 1) % kBlockBytes / kBasePageBytes) + 1 - page;
        add(placement.blocks[begin / kBlockBytes], PageMask::range(page, pages), read + written);
        begin = end;
      }
    }
  }
}

}  // namespace uvmsim::engine
