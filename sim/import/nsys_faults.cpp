// SPDX-License-Identifier: Apache-2.0
#include "sim/import/nsys_faults.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <tuple>

#include "sim/common/units.h"

namespace uvmsim::trace {

namespace {

std::uint64_t page_begin(std::uint64_t address) { return address / kBasePageBytes * kBasePageBytes; }

AddressRange whole_blocks(std::uint64_t address, std::uint64_t bytes) {
  return {address / kBlockBytes * kBlockBytes, (address + bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes};
}

AccessMode mode_of(std::uint32_t access) {
  if (access == 2) return AccessMode::kWrite;
  return access == 1 || access == 4 ? AccessMode::kRead : AccessMode::kReadWrite;
}

// Finds the running kernel that an event on its GPU belongs to. Events must be given in order of time.
class Running {
 public:
  explicit Running(const std::vector<NsysReport::Kernel>& kernels) : kernels_(kernels) {}
  // Returns the kernel that started first; kNone if none runs. `ambiguous`: another one ran too.
  std::size_t at(std::int64_t time, std::int32_t device, bool& ambiguous) {
    for (; next_ < kernels_.size() && kernels_[next_].start <= time; ++next_) {
      running_[kernels_[next_].device].push_back(next_);
    }
    std::deque<std::size_t>& running = running_[device];
    // The last kernel is kept: pages that it wrote may return after its end.
    while (running.size() > 1 && kernels_[running.front()].end < time) running.pop_front();
    last_ = running.empty() ? kNone : running.back();
    ambiguous = running.size() > 1 && kernels_[running[1]].end >= time;
    return running.empty() || kernels_[running.front()].end < time ? kNone : running.front();
  }
  // Returns the last kernel that had begun by the time of the last event, on its GPU.
  std::size_t last_begun() const { return last_; }
  static constexpr std::size_t kNone = SIZE_MAX;

 private:
  const std::vector<NsysReport::Kernel>& kernels_;
  std::size_t next_ = 0, last_ = kNone;
  std::map<std::int32_t, std::deque<std::size_t>> running_;  // by GPU, in order of start
};

// The time of one kernel in which faults were served, summed from intervals in order of their start.
class ServedTime {
 public:
  void add(std::int64_t begin, std::int64_t end, const NsysReport::Kernel& kernel, std::int64_t longest_pause = 0) {
    if (until_ != INT64_MIN && begin - until_ <= longest_pause) begin = until_;
    begin = std::max({begin, until_, kernel.start});
    end = std::min(end, kernel.end);
    if (end <= begin) return;
    total += end - begin;
    until_ = end;
  }
  std::int64_t total = 0;

 private:
  std::int64_t until_ = INT64_MIN;
};

struct Event {
  std::int64_t time;
  int order;  // of events of equal time
  std::uint64_t address, bytes;
  enum class Kind { kAllocation, kKnown, kToGpu } kind;
};

std::vector<Event> events_of(const NsysReport& report) {
  std::vector<Event> events;
  for (const NsysReport::Memory& memory : report.memory) {
    if (!memory.free) events.push_back({memory.time, 0, memory.address, memory.bytes, Event::Kind::kAllocation});
  }
  for (const NsysReport::Fault& fault : report.cpu_faults) {
    events.push_back({fault.start, 1, fault.address, 1, Event::Kind::kKnown});
  }
  for (const NsysReport::Copy& copy : report.copies) {
    if (!copy.migration()) continue;
    const auto kind = copy.migration_to_gpu() ? Event::Kind::kToGpu : Event::Kind::kKnown;
    events.push_back({copy.start, 2, copy.address, copy.bytes, kind});
  }
  std::ranges::stable_sort(events, {}, [](const Event& event) { return std::tie(event.time, event.order); });
  return events;
}

}  // namespace

KernelFaults attribute_faults(const NsysReport& report, bool prefetched) {
  KernelFaults out;
  out.touched.resize(report.kernels.size());
  out.served_ns.resize(report.kernels.size());
  std::vector<ServedTime> served(report.kernels.size());
  const auto note = [&out](std::size_t kernel, bool ambiguous, const TouchedPages& pages) {
    if (kernel == Running::kNone) {
      ++out.unattributed;
      return;
    }
    out.ambiguous += ambiguous ? 1 : 0;
    out.touched[kernel].push_back(pages);
  };
  bool ambiguous = false;
  Running during_faults(report.kernels);
  for (const NsysReport::Fault& fault : report.gpu_faults) {
    const std::size_t kernel = during_faults.at(fault.start, fault.device, ambiguous);
    note(kernel, ambiguous, {page_begin(fault.address), kBasePageBytes, mode_of(fault.access)});
    if (kernel != Running::kNone) served[kernel].add(fault.start, fault.end, report.kernels[kernel]);
  }
  Running during_copies(report.kernels);
  AddressSet on_gpu;
  std::size_t memory = 0;
  std::size_t batch = 0;  // the fault batch that was being served: the last one that had begun
  for (const NsysReport::Copy& copy : report.copies) {
    if (!copy.migration() || copy.bytes == 0) continue;
    for (; memory < report.memory.size() && report.memory[memory].time <= copy.start; ++memory) {
      const NsysReport::Memory& event = report.memory[memory];
      if (!event.free && event.bytes != 0) on_gpu -= AddressRange(event.address, event.address + event.bytes);
    }
    const std::size_t kernel = during_copies.at(copy.start, copy.device, ambiguous);
    const AddressRange range(copy.address, copy.address + copy.bytes);
    if (copy.migration_to_host()) {
      AddressSet fresh(range);
      const auto [first, last] = on_gpu.equal_range(range);
      for (auto known = first; known != last; ++known) fresh -= *known;
      if (!fresh.empty() && during_copies.last_begun() != Running::kNone) {
        for (const AddressRange& piece : fresh) {
          const std::uint64_t bytes = piece.upper() - piece.lower();
          out.touched[during_copies.last_begun()].push_back({piece.lower(), bytes, AccessMode::kWrite});
          out.implied_bytes += bytes;
        }
      }
      on_gpu += range;
      continue;
    }
    on_gpu += range;
    if (!copy.for_touch()) continue;
    while (batch < report.gpu_faults.size() && report.gpu_faults[batch].start <= copy.start) ++batch;
    const AccessMode mode = batch == 0 ? AccessMode::kReadWrite : mode_of(report.gpu_faults[batch - 1].access);
    if (kernel != Running::kNone && report.gpu_faults.empty()) {
      served[kernel].add(copy.start - kBeforeCopiesNs, copy.end + kAfterCopiesNs, report.kernels[kernel],
                         kLongestPauseNs - kBeforeCopiesNs - kAfterCopiesNs);
    }
    if (!copy.for_fault() && !prefetched) continue;
    if (!copy.for_fault() && kernel == Running::kNone) continue;  // not a touch of a kernel
    note(kernel, ambiguous, {copy.address, copy.bytes, mode});
    if (kernel != Running::kNone) out.moved_bytes += copy.bytes;
  }
  for (std::size_t i = 0; i < served.size(); ++i) out.served_ns[i] = served[i].total;
  return out;
}

AddressSet unnamed_memory(const NsysReport& report) {
  AddressSet blocks;
  for (const NsysReport::Copy& copy : report.copies) {
    if (copy.migration() && copy.bytes != 0) blocks += whole_blocks(copy.address, copy.bytes);
  }
  for (const auto* faults : {&report.gpu_faults, &report.cpu_faults}) {
    for (const NsysReport::Fault& fault : *faults) blocks += whole_blocks(fault.address, 1);
  }
  // Blocks that contain a part of a named allocation are excluded: an event there concerns at most neighbouring memory.
  for (const NsysReport::Memory& event : report.memory) {
    if (!event.free) blocks -= whole_blocks(event.address, event.bytes);
  }
  return blocks;
}

std::vector<HostData> implied_host_data(const NsysReport& report) {
  std::vector<HostData> implied;
  AddressSet known;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::int64_t>> allocations;  // end and time, by begin
  const auto allocated_at = [&](std::uint64_t address) {
    const auto next = allocations.upper_bound(address);
    if (next == allocations.begin() || std::prev(next)->second.first <= address) return std::int64_t{0};
    return std::prev(next)->second.second;
  };
  for (const Event& event : events_of(report)) {
    if (event.bytes == 0) continue;
    const AddressRange pages(page_begin(event.address), page_begin(event.address + event.bytes - 1) + kBasePageBytes);
    switch (event.kind) {
      case Event::Kind::kAllocation:
        known -= pages;
        allocations[event.address] = {event.address + event.bytes, event.time};
        break;
      case Event::Kind::kKnown:
        known += pages;
        break;
      case Event::Kind::kToGpu: {
        AddressSet fresh(pages);
        const auto [first, last] = known.equal_range(pages);
        for (auto range = first; range != last; ++range) fresh -= *range;
        for (const AddressRange& range : fresh) {
          const std::uint64_t from = range.lower();
          implied.push_back({allocated_at(std::max(from, event.address)), from, range.upper() - from});
        }
        known += pages;
        break;
      }
    }
  }
  std::ranges::sort(implied, {}, [](const HostData& data) { return std::tie(data.time, data.address); });
  return implied;
}

}  // namespace uvmsim::trace
