// SPDX-License-Identifier: Apache-2.0
#include "sim/import/nsys_faults.h"

#include <algorithm>
#include <deque>

#include "sim/common/units.h"

namespace uvmsim::trace {

namespace {

constexpr std::uint32_t kCauseFault = 2;

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

}  // namespace uvmsim::trace
