// SPDX-License-Identifier: Apache-2.0
#include "sim/import/import_nsys.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>

#include "sim/common/error.h"
#include "sim/common/units.h"
#include "sim/import/address_map.h"
#include "sim/import/nsys_faults.h"
#include "sim/import/nsys_report.h"
#include "sim/trace/kernel_names.h"

namespace uvmsim::trace {

namespace {

constexpr std::string_view kNsysTool = "uvmsim trace import nsys, conversion 2";
constexpr std::int64_t kShortestKernelNs = 1000;  // what is left when faults cover all of a kernel

CopyKind copy_kind(std::uint32_t kind) {
  if (kind == 0) return CopyKind::kDefault;
  if (kind == 1 || kind == 3) return CopyKind::kHostToDevice;
  if (kind == 2 || kind == 4) return CopyKind::kDeviceToHost;
  return kind == 9 ? CopyKind::kHostToHost : CopyKind::kDeviceToDevice;
}

class NsysConversion final : public Conversion<NsysImportSummary> {
 public:
  NsysConversion(const std::string& path, const NsysImportOptions& options)
      : report_(read_nsys_report(path, options.process)), options_(options) {
    header.quantum_bytes = NsysImporter::kQuantumBytes;
    header.tool = kNsysTool;
    header.gpu = report_.gpu;
    header.program = path;
    header.provenance = options.provenance;
    header.attributes = {{"accesses", "pages that faulted: a lower bound"},
                         {"durations", "recorded, less the time in which faults were served"}};
    sort_by_time();
    faults_ = attribute_faults(report_);
    summary.unattributed = faults_.unattributed;
    summary.ambiguous = faults_.ambiguous;
    infer_objects();
    host_data_ = implied_host_data(report_);
    order();
  }

 private:
  bool go_on() override {
    if (step_ == steps_.size()) return false;
    take(steps_[step_++]);
    return true;
  }

  // At one time: what frees memory comes first, what is a consequence comes last.
  enum class StepKind : std::uint8_t { kFree, kAllocate, kHostData, kSync, kKernel, kCopy, kHostAccess, kCounter };
  struct Step {
    std::int64_t time = 0;       // the call's, on the host; else when it began
    std::int64_t begin = 0;      // on the GPU
    std::int64_t call_end = -1;  // of the call; -1: none recorded
    StepKind kind = StepKind::kKernel;
    std::size_t index = 0;
  };

  void sort_by_time() {
    const auto sort = [this](auto& list) {
      std::ranges::stable_sort(list, {}, [](const auto& event) { return event.start; });
      if (!list.empty()) origin_ = std::min(origin_, list.front().start);
    };
    sort(report_.kernels);
    sort(report_.copies);
    sort(report_.gpu_faults);
    sort(report_.cpu_faults);
  }

  // Managed memory that only events speak of.
  void infer_objects() {
    for (const AddressRange& range : unnamed_memory(report_)) {
      allocate(range.lower(), range.upper() - range.lower(), ObjectKind::kManaged, 0);
      ++summary.inferred_objects;
    }
  }

  void order() {
    // What no call says more of.
    const auto add = [this](std::int64_t time, StepKind kind, std::size_t index) {
      steps_.push_back({time, time, -1, kind, index});
    };
    std::unordered_map<std::int64_t, std::size_t> calls;  // by correlation; only looked up
    for (std::size_t i = 0; i < report_.calls.size(); ++i) {
      const NsysReport::Call& call = report_.calls[i];
      calls.insert_or_assign(call.correlation, i);
      if (call.name.find("Synchronize") != std::string::npos) {
        steps_.push_back({call.start, call.start, call.end, StepKind::kSync, i});
      }
    }
    const auto add_called = [&](std::int64_t correlation, std::int64_t begin, StepKind kind, std::size_t index) {
      const auto found = correlation < 0 ? calls.end() : calls.find(correlation);
      if (found == calls.end()) {
        add(begin, kind, index);
      } else {
        const NsysReport::Call& call = report_.calls[found->second];
        // What runs before it was called has another call's number.
        const bool plausible = call.start <= begin;
        steps_.push_back({plausible ? call.start : begin, begin, plausible ? call.end : -1, kind, index});
      }
    };
    for (std::size_t i = 0; i < report_.kernels.size(); ++i) {
      add_called(report_.kernels[i].correlation, report_.kernels[i].start, StepKind::kKernel, i);
    }
    for (std::size_t i = 0; i < report_.copies.size(); ++i) {
      const NsysReport::Copy& copy = report_.copies[i];
      if (copy.migration()) {
        add(copy.start, StepKind::kCounter, i);
      } else {
        add_called(copy.correlation, copy.start, StepKind::kCopy, i);
        blocking_.insert_or_assign(i, is_blocking(copy, calls));
      }
    }
    for (std::size_t i = 0; i < report_.memory.size(); ++i) {
      const NsysReport::Memory& event = report_.memory[i];
      add(event.time, event.free ? StepKind::kFree : StepKind::kAllocate, i);
    }
    for (std::size_t i = 0; i < report_.cpu_faults.size(); ++i) {
      add(report_.cpu_faults[i].start, StepKind::kHostAccess, i);
    }
    // All that the host had when an allocation was made, at once: from the index to the next other time.
    for (std::size_t i = 0; i < host_data_.size(); ++i) {
      if (i != 0 && host_data_[i].time == host_data_[i - 1].time) continue;
      add(host_data_[i].time, StepKind::kHostData, i);
    }
    fault_base_ = report_.copies.size();
    for (std::size_t i = 0; i < report_.gpu_faults.size(); ++i) {
      add(report_.gpu_faults[i].start, StepKind::kCounter, fault_base_ + i);
    }
    std::ranges::stable_sort(steps_, {}, [](const Step& step) { return std::tie(step.time, step.kind, step.begin); });
  }

  bool is_blocking(const NsysReport::Copy& copy, const std::unordered_map<std::int64_t, std::size_t>& calls) const {
    const auto found = calls.find(copy.correlation);
    return found == calls.end() || report_.calls[found->second].name.find("Async") == std::string::npos;
  }

  void take(const Step& step) {
    // In the order of StepKind.
    constexpr std::array kTake = {&NsysConversion::memory,      &NsysConversion::memory, &NsysConversion::host_data,
                                  &NsysConversion::synchronize, &NsysConversion::kernel, &NsysConversion::copy,
                                  &NsysConversion::host_access, &NsysConversion::counter};
    (this->*kTake.at(static_cast<std::size_t>(step.kind)))(step);
  }

  void memory(const Step& step) {
    const NsysReport::Memory& event = report_.memory[step.index];
    event.free ? release(event.address) : allocate(event.address, event.bytes, event.kind, event.device);
  }

  void allocate(std::uint64_t address, std::uint64_t bytes, ObjectKind kind, std::int32_t device) {
    for (const AddressMap::Entry& old : live_.overlapping(address, bytes)) {
      release(old.address);
      ++summary.missing_frees;
    }
    const ObjectId id = ++summary.objects;
    live_.insert(id, address, bytes);
    ready.emplace_back(ObjectAlloc{id, kind, bytes, address, device});
  }

  void release(std::uint64_t address) {
    const AddressMap::Entry entry = live_.remove(address);
    if (entry.id != kNoObject) ready.emplace_back(ObjectFree{entry.id});
  }

  // Host time since the call before returned.
  std::int64_t host_gap(const Step& step) {
    if (step.call_end < 0) return 0;
    const std::int64_t gap = last_call_end_ < 0 ? 0 : std::max<std::int64_t>(step.time - last_call_end_, 0);
    last_call_end_ = std::max(last_call_end_, step.call_end);
    return gap;
  }

  void synchronize(const Step& step) {
    const NsysReport::Call& call = report_.calls[step.index];
    Sync out;
    const auto stream = report_.synchronized_streams.find(call.correlation);
    if (call.name.find("StreamSynchronize") != std::string::npos && stream != report_.synchronized_streams.end()) {
      out.kind = SyncKind::kStream;
      out.stream = stream->second;
    }
    out.host_gap_ns = host_gap(step);
    ready.emplace_back(out);
    gpu_busy_until_ = 0;
  }

  void kernel(const Step& step) {
    const NsysReport::Kernel& in = report_.kernels[step.index];
    Kernel out;
    out.name = report_.text(in.name);
    out.stream = in.stream;
    out.device = in.device;
    out.grid = in.grid;
    out.block = in.block;
    out.registers_per_thread = in.registers;
    out.shared_bytes_per_block = in.shared_bytes;
    out.host_gap_ns = host_gap(step);
    const std::int64_t recorded = in.end - in.start;
    out.duration_ns = std::max(recorded - faults_.served_ns[step.index], std::min(recorded, kShortestKernelNs));
    out.distribution = distribution_by_name(out.name);
    AccessSet set;
    for (const TouchedPages& pages : faults_.touched[step.index]) {
      if (live_.add_accesses(pages.address, pages.bytes, pages.mode, NsysImporter::kQuantumBytes, set) == pages.bytes) {
        ++summary.outside;
      }
    }
    out.accesses = set.take();
    out.coverage = out.accesses.empty() ? Coverage::kNone : Coverage::kDeclared;
    if (!out.accesses.empty()) ++summary.covered_kernels;
    ++summary.kernels;
    gpu_busy_until_ = std::max(gpu_busy_until_, in.end);
    ready.emplace_back(std::move(out));
  }

  void copy(const Step& step) {
    const NsysReport::Copy& in = report_.copies[step.index];
    Memcpy out;
    out.bytes = in.bytes;
    out.kind = copy_kind(in.kind);
    out.stream = in.stream;
    out.blocking = blocking_.at(step.index);
    out.host_gap_ns = host_gap(step);
    ready.emplace_back(out);
  }

  void host_access(const Step& step) {
    const NsysReport::Fault& fault = report_.cpu_faults[step.index];
    AccessSet set;
    const std::uint64_t page = fault.address / kBasePageBytes * kBasePageBytes;
    live_.add_accesses(page, kBasePageBytes, AccessMode::kReadWrite, NsysImporter::kQuantumBytes, set);
    std::vector<ObjectAccess> accesses = set.take();
    // Without recorded calls nothing says that the host waited; what it touches after a kernel's end it waited for.
    if (report_.calls.empty() && gpu_busy_until_ != 0 && fault.start >= gpu_busy_until_) {
      ready.emplace_back(Sync{});
      gpu_busy_until_ = 0;
    }
    if (accesses.empty()) ++summary.outside;
    for (ObjectAccess& access : accesses) {
      if (live_.find(fault.address).id != access.object) continue;  // a neighbour on the same page
      ready.emplace_back(HostAccess{access.object, std::move(access.extents), {}, 0});
    }
    put_counter("cpu_fault", fault.address, fault.count, fault.start, fault.start, 0);
  }

  // Written right after its allocation: when, the report does not say.
  void host_data(const Step& step) {
    const std::size_t first = step.index;
    AccessSet set;
    for (std::size_t i = first; i < host_data_.size() && host_data_[i].time == host_data_[first].time; ++i) {
      const HostData& data = host_data_[i];
      summary.implied_host_bytes += data.bytes - live_.add_accesses(data.address, data.bytes, AccessMode::kWrite,
                                                                    NsysImporter::kQuantumBytes, set);
    }
    for (ObjectAccess& access : set.take()) {
      ready.emplace_back(HostAccess{access.object, std::move(access.extents), {}, 0});
    }
  }

  void counter(const Step& step) {
    if (step.index >= fault_base_) {
      const NsysReport::Fault& fault = report_.gpu_faults[step.index - fault_base_];
      put_counter("gpu_fault", fault.address, fault.count, fault.start, fault.end, fault.access);
      return;
    }
    const NsysReport::Copy& copy = report_.copies[step.index];
    put_counter(copy.migration_to_gpu() ? "htod"
                : copy.kind == 12       ? "dtoh"
                                        : "dtod",
                copy.address, copy.bytes, copy.start, copy.end, copy.cause);
  }

  void put_counter(const char* kind, std::uint64_t address, std::uint64_t value, std::int64_t start, std::int64_t end,
                   std::uint32_t flags) {
    if (!options_.counters) return;
    const AddressMap::Entry entry = live_.find(address);
    UvmCounter out;
    out.kind = kind;
    out.object = entry.id;
    out.offset = entry.id == kNoObject ? 0 : address - entry.address;
    out.value = value;
    out.start_ns = start - origin_;
    out.end_ns = end - origin_;
    out.flags = flags;
    ready.emplace_back(std::move(out));
  }

  NsysReport report_;
  NsysImportOptions options_;
  std::int64_t origin_ = INT64_MAX;  // begin of the first event
  KernelFaults faults_;
  std::vector<HostData> host_data_;
  std::vector<Step> steps_;
  std::unordered_map<std::size_t, bool> blocking_;  // copies; only looked up
  std::size_t step_ = 0, fault_base_ = 0;
  AddressMap live_;
  std::int64_t last_call_end_ = -1, gpu_busy_until_ = 0;
};

}  // namespace

NsysImporter::NsysImporter(const std::string& path, const NsysImportOptions& options)
    : Importer(std::make_unique<NsysConversion>(path, options)) {}

}  // namespace uvmsim::trace
