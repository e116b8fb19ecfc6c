// SPDX-License-Identifier: Apache-2.0
#include "sim/import/nsys_faults.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "sim/common/units.h"

namespace uvmsim::trace {

namespace {

constexpr std::uint32_t kCauseFault = 2;
constexpr std::uint32_t kToDevice = 11;  // a migration's copyKind

// Sorted, overlapping and touching ones joined.
std::vector<AddressRange> joined(std::vector<AddressRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::vector<AddressRange> out;
  for (const AddressRange& range : ranges) {
    if (!out.empty() && range.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, range.end);
    } else {
      out.push_back(range);
    }
  }
  return out;
}

// What of `ranges` lies in none of `others`; both joined.
std::vector<AddressRange> without(const std::vector<AddressRange>& ranges, const std::vector<AddressRange>& others) {
  std::vector<AddressRange> out;
  std::size_t next = 0;
  for (AddressRange range : ranges) {
    while (next < others.size() && others[next].end <= range.begin) ++next;
    for (std::size_t i = next; i < others.size() && others[i].begin < range.end; ++i) {
      if (others[i].begin > range.begin) out.push_back({range.begin, others[i].begin});
      range.begin = std::max(range.begin, others[i].end);
    }
    if (range.begin < range.end) out.push_back(range);
  }
  return out;
}

AccessMode mode_of(std::uint32_t access) {
  switch (access) {
    case 1:
    case 4:
      return AccessMode::kRead;
    case 2:
      return AccessMode::kWrite;
    default:
      return AccessMode::kReadWrite;
  }
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
    note(kernel, ambiguous, {fault.address / kBasePageBytes * kBasePageBytes, kBasePageBytes, mode_of(fault.access)});
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
    if (copy.kind != kToDevice || copy.cause != kCauseFault || copy.bytes == 0) continue;
    while (batch < report.gpu_faults.size() && report.gpu_faults[batch].start <= copy.start) ++batch;
    const AccessMode mode = batch == 0 ? AccessMode::kReadWrite : mode_of(report.gpu_faults[batch - 1].access);
    note(during_copies.at(copy.start, ambiguous), ambiguous, {copy.address, copy.bytes, mode});
  }
  return out;
}

std::vector<AddressRange> unnamed_memory(const NsysReport& report) {
  std::vector<AddressRange> named, seen;
  for (const NsysReport::Memory& event : report.memory) {
    if (!event.free) named.push_back({event.address, event.address + event.bytes});
  }
  const auto see = [&seen](std::uint64_t address, std::uint64_t bytes) {
    seen.push_back(
        {address / kBlockBytes * kBlockBytes, (address + bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes});
  };
  named = joined(std::move(named));
  // Blocks that a named allocation shares are its own: events there are its neighbours' at most.
  std::vector<AddressRange> blocks = named;
  for (AddressRange& range : blocks) {
    range.begin = range.begin / kBlockBytes * kBlockBytes;
    range.end = (range.end + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  }
  for (const NsysReport::Copy& copy : report.copies) {
    if (copy.migration() && copy.bytes != 0) see(copy.address, copy.bytes);
  }
  for (const auto* faults : {&report.gpu_faults, &report.cpu_faults}) {
    for (const NsysReport::Fault& fault : *faults) see(fault.address, 1);
  }
  return without(joined(std::move(seen)), joined(std::move(blocks)));
}

}  // namespace uvmsim::trace
