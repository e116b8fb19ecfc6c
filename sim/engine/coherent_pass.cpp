// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/coherent_pass.h"

#include <algorithm>
#include <bit>

#include "sim/common/random.h"  // WideUnsigned
#include "sim/engine/remote_use.h"

namespace uvmsim::engine {

namespace {

constexpr std::uint64_t kPsPerNs = 1000;
constexpr std::uint64_t kWhole = std::uint64_t{1} << 40;  // length of a kernel's order

std::uint64_t scaled(std::uint64_t amount, std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<std::uint64_t>(WideUnsigned{amount} * part / whole);
}

// Returns the position in its order at which the kernel reaches byte `at` of `bytes`: waves of thread blocks come one
// after the other, the blocks of a wave side by side.
std::uint64_t place_in_order(const KernelWork& work, std::uint64_t at, std::uint64_t bytes) {
  const bool shares = work.pattern == Pattern::kSlices || work.pattern == Pattern::kThreads;
  if (!shares || work.units <= 1) return scaled(kWhole, at, bytes);
  const std::uint64_t waves = (work.units + work.resident_units - 1) / work.resident_units;
  const std::uint64_t position = scaled(work.units, at, bytes);  // the unit
  const std::uint64_t first = scaled(bytes, position, work.units), end = scaled(bytes, position + 1, work.units);
  const std::uint64_t within = end == first ? 0 : scaled(kWhole / waves, at - std::min(at, first), end - first);
  return position / work.resident_units * (kWhole / waves) + within;
}

}  // namespace

// Spreads the faults of pieces [first, end), which lie in one VA block.
void CoherentPass::spread_faults(std::size_t first, std::size_t end) {
  std::uint64_t bytes = 0;
  for (std::size_t i = first; i < end; ++i) bytes += pieces_[i].bytes;
  const std::uint64_t faults = static_cast<unsigned>(std::bit_width(end - first - 1)) + 1u;
  for (std::size_t i = 0; first + i < end; i = i == 0 ? 1 : 2 * i) {
    pieces_[first + i].fault_bytes = static_cast<std::uint32_t>(bytes / faults);
  }
}

void CoherentPass::cut(const KernelWork& work, const trace::Kernel& kernel) {
  pieces_.clear();
  const std::uint64_t quantum = process_.header.quantum_bytes;
  const std::uint64_t page_bytes = std::max(process_.options.system.coherence.host_page_bytes, kBasePageBytes);
  if (work.explicit_touches) {
    const std::uint32_t width = std::max<std::uint32_t>(kernel.bytes_per_thread_access, link::kSectorBytes);
    for (std::size_t i = 0; i < work.touches.size(); ++i) {
      const PageRef& touch = work.touches[i];
      const auto page = static_cast<std::uint16_t>(touch.page);
      pieces_.push_back(
          {scaled(kWhole, i, work.touches.size()), touch.block, page, !touch.write, touch.write, width, 0, width});
    }
    return;
  }
  for (std::uint32_t slot = 0; slot < kernel.accesses.size(); ++slot) {
    const layout::Placement& placement = layout_.find(kernel.accesses[slot].object);
    if (!placement.managed) continue;
    std::uint64_t bytes = 0, at = 0;
    std::size_t first = pieces_.size();  // first piece of the VA block
    for (const trace::Extent& extent : kernel.accesses[slot].extents) bytes += extent.count * quantum;
    for (const trace::Extent& extent : kernel.accesses[slot].extents) {
      const std::uint64_t begin = placement.offset + extent.first * quantum;
      const std::uint64_t end = placement.offset + std::min((extent.first + extent.count) * quantum, placement.bytes);
      for (std::uint64_t byte = begin; byte < end;) {
        const std::uint64_t next = std::min(end, (byte / page_bytes + 1) * page_bytes);
        pieces_.push_back({place_in_order(work, at, bytes), placement.blocks[byte / kBlockBytes],
                           static_cast<std::uint16_t>(byte % kBlockBytes / kBasePageBytes),
                           extent.mode != trace::AccessMode::kWrite, extent.mode != trace::AccessMode::kRead,
                           static_cast<std::uint32_t>(next - byte), slot, 0});
        if (pieces_[first].block != pieces_.back().block) {
          spread_faults(first, pieces_.size() - 1);
          first = pieces_.size() - 1;
        }
        at += next - byte;
        byte = next;
      }
    }
    spread_faults(first, pieces_.size());
  }
  std::stable_sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) { return a.when < b.when; });
}

InPlaceAtStart CoherentPass::in_place(const KernelWork& work, unsigned gpu) const {
  InPlaceAtStart found;
  work.for_each_touched([&](BlockIndex b, const PageMask&) {
    if (space_.block(b).kind != MemoryKind::kManaged) return;
    const ProcessorPages& mine = space_.pages(b, gpu_processor(gpu));
    const PageMask pages = (mine.mapped - mine.resident) & space_.pages(b, kHost).resident;
    if (!pages.empty()) found.emplace_back(b, pages);
  });
  const auto by_block = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(found.begin(), found.end(), by_block);
  found.erase(std::unique(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first == b.first; }),
              found.end());
  return found;
}

Nanoseconds CoherentPass::end(const KernelWork& work, const trace::Kernel& kernel, Nanoseconds start,
                              Nanoseconds computed, Nanoseconds faulted, const InPlaceAtStart* at_start,
                              std::uint64_t images) {
  const auto gpu = static_cast<unsigned>(kernel.device);
  const ProcessorId self = gpu_processor(gpu);
  const auto in_place = [&](BlockIndex b, unsigned page) {
    if (at_start != nullptr && space_.block(b).kind == MemoryKind::kManaged) {
      const auto found = std::lower_bound(at_start->begin(), at_start->end(), b,
                                          [](const auto& entry, BlockIndex block) { return entry.first < block; });
      if (found == at_start->end() || found->first != b || !found->second.test(page)) return false;
    }
    const ProcessorPages& mine = space_.pages(b, self);
    return mine.mapped.test(page) && !mine.resident.test(page) && space_.pages(b, kHost).resident.test(page);
  };
  counters_.advance(gpu, start);
  bool any = false;
  work.for_each_touched([&](BlockIndex b, const PageMask& pages) {
    const ProcessorPages& mine = space_.pages(b, self);
    any = any || ((mine.mapped - mine.resident) & space_.pages(b, kHost).resident).intersects(pages);
  });
  if (!any) return computed;

  cut(work, kernel);
  const config::SystemConfig& system = process_.options.system;
  const config::GpuConfig& described = system.gpus[gpu];
  const config::CoherenceConfig& coherence = system.coherence;
  const std::vector<RemoteUse> uses =
      remote_use(kernel, accessed_bytes(kernel, process_.header.quantum_bytes), images, described);
  link::RemoteLane& lane = process_.machine.remote_lanes[gpu];
  // With a list of touches each thread has one access under way.
  const std::uint64_t under_way = work.explicit_touches
                                      ? std::max<std::uint64_t>(1, work.threads) *
                                            std::max<std::uint64_t>(kernel.bytes_per_thread_access, link::kSectorBytes)
                                      : bytes_under_way(kernel, described);
  const std::uint64_t read_wait = system.runtime.remote_latency_ns - coherence.local_latency_ns;
  std::uint64_t all_bytes = 0;
  for (const Piece& piece : pieces_) all_bytes += piece.bytes;
  const auto own_ps =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, (computed - start - faulted).value)) * kPsPerNs;
  const auto fault_ps = static_cast<std::uint64_t>(std::max<std::int64_t>(0, faulted.value)) * kPsPerNs;
  const auto time_at = [&](std::uint64_t ps) { return start + Nanoseconds(static_cast<std::int64_t>(ps / kPsPerNs)); };
  std::uint64_t now_ps = 0;
  link::RemoteTraffic all;
  for (const Piece& piece : pieces_) {
    counters_.advance(gpu, time_at(now_ps));
    if (const std::uint64_t wait = scaled(fault_ps, piece.fault_bytes, all_bytes); wait != 0) {
      const Nanoseconds busy = counters_.busy_until(gpu);
      if (busy > time_at(now_ps)) now_ps = static_cast<std::uint64_t>((busy - start).value) * kPsPerNs;
      now_ps += wait;
      counters_.occupy(gpu, time_at(now_ps));
    }
    std::uint64_t takes_ps = scaled(own_ps, piece.bytes, all_bytes);
    if (in_place(piece.block, piece.first)) {
      const RemoteUse how = uses.empty() ? RemoteUse{} : uses[piece.slot];
      const std::uint64_t read = piece.read && !how.atomics ? scaled(piece.bytes, how.times_thousandths, 1000) : 0;
      const std::uint64_t written = piece.write ? piece.bytes : 0;
      link::RemoteTraffic traffic;
      if (read != 0) traffic.add_reads(read * kPsPerNs, how.request_bytes);
      if (written != 0 && how.word_times_thousandths == 0) traffic.add(written * kPsPerNs, false, true);
      if (written != 0 && how.word_times_thousandths != 0) {
        const std::uint64_t words = written / link::RemoteTraffic::kWordBytes;
        traffic.add_words(scaled(words, how.word_times_thousandths, 1000) * kPsPerNs, how.atomics);
      }
      const std::uint64_t waits_ps = scaled(read * kPsPerNs, read_wait, under_way) +
                                     scaled(written * kPsPerNs, coherence.store_latency_ns, under_way);
      // The traffic is a thousand times the bytes, so that its nanoseconds are picoseconds of the bytes.
      takes_ps = std::max(takes_ps + waits_ps, static_cast<std::uint64_t>(lane.time(traffic).value));
      if (read != 0) all.add(read, true, false);
      if (written != 0) all.add(written, false, true);
      if (counters_.counts(gpu, piece.block)) {
        counters_.count(gpu, piece.block, piece.first, read, written, time_at(now_ps + takes_ps / 2));
      }
    }
    now_ps += takes_ps;
  }
  process_.counters().remote_access_bytes += all.bytes();
  // The kernel shares the lane with kernels of other streams.
  return std::max({computed, time_at(now_ps), lane.carry(start, all)});
}

}  // namespace uvmsim::engine
