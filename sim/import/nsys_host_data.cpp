// SPDX-License-Identifier: Apache-2.0
#include "sim/import/nsys_host_data.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "sim/common/units.h"
#include "sim/import/nsys_faults.h"

namespace uvmsim::trace {
namespace {

std::uint64_t page_begin(std::uint64_t address) { return address / kBasePageBytes * kBasePageBytes; }

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
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tie(a.time, a.order) < std::tie(b.time, b.order);
  });
  return events;
}

}  // namespace

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
  std::sort(implied.begin(), implied.end(), [](const HostData& a, const HostData& b) {
    return std::tie(a.time, a.address) < std::tie(b.time, b.address);
  });
  return implied;
}

}  // namespace uvmsim::trace
