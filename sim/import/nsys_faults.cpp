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

constexpr std::uint32_t kCauseFault = 2;

std::uint64_t page_begin(std::uint64_t address) { return address / kBasePageBytes * kBasePageBytes; }

AddressRange whole_blocks(std::uint64_t address, std::uint64_t bytes) {
  return {address / kBlockBytes * kBlockBytes, (address + bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes};
}

AccessMode mode_of(std::uint32_t access) {
  if (access == 2) return AccessMode::kWrite;
  return access == 1 || access == 4 ? AccessMode::kRead : AccessMode::kReadWrite;
}

// Which running kernel an event belongs to. Events come by time.
class Running {
 public:
  explicit Running(const std::vector<NsysReport::Kernel>& kernels) : kernels_(kernels) {}
  // The one that started first; kNone without any. `ambiguous`: another one ran too.
  std::size_t at(std::int64_t time, bool& ambiguous) {
    while (next_ < kernels_.size() && kernels_[next_].start <= time) running_.push_back(next_++);
    while (!running_.empty() && kernels_[running_.front()].end < time) running_.pop_front();
    ambiguous = running_.size() > 1 && kernels_[running_[1]].end >= time;
    return running_.empty() ? kNone : running_.front();
  }
  static constexpr std::size_t kNone = SIZE_MAX;

 private:
  const std::vector<NsysReport::Kernel>& kernels_;
  std::size_t next_ = 0;
  std::deque<std::size_t> running_;  // by start
};

struct Event {
  std::int64_t time;
  int order;  // at one time
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

KernelFaults attribute_faults(const NsysReport& report) {
  KernelFaults out;
  out.touched.resize(report.kernels.size());
  out.served_ns.resize(report.kernels.size());
  std::vector<std::int64_t> served_until(report.kernels.size(), 0);
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
    const std::size_t kernel = during_faults.at(fault.start, ambiguous);
    note(kernel, ambiguous, {page_begin(fault.address), kBasePageBytes, mode_of(fault.access)});
    if (kernel == Running::kNone) continue;
    const std::int64_t begin = std::max(fault.start, served_until[kernel]);
    const std::int64_t end = std::min(fault.end, report.kernels[kernel].end);
    if (end > begin) {
      out.served_ns[kernel] += end - begin;
      served_until[kernel] = end;
    }
  }
  Running during_copies(report.kernels);
  std::size_t batch = 0;  // the batch that was being served: the last one that began before
  for (const NsysReport::Copy& copy : report.copies) {
    if (!copy.migration_to_gpu() || copy.cause != kCauseFault || copy.bytes == 0) continue;
    while (batch < report.gpu_faults.size() && report.gpu_faults[batch].start <= copy.start) ++batch;
    const AccessMode mode = batch == 0 ? AccessMode::kReadWrite : mode_of(report.gpu_faults[batch - 1].access);
    note(during_copies.at(copy.start, ambiguous), ambiguous, {copy.address, copy.bytes, mode});
  }
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
  // Blocks that a named allocation shares are its own: events there are its neighbours' at most.
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
