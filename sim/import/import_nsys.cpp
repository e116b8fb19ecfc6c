// SPDX-License-Identifier: Apache-2.0
#include "sim/import/import_nsys.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "sim/common/error.h"
#include "sim/common/units.h"
#include "sim/import/address_map.h"
#include "sim/import/nsys_faults.h"
#include "sim/import/nsys_ranges.h"
#include "sim/import/nsys_report.h"
#include "sim/trace/kernel_names.h"

namespace uvmsim::trace {

namespace {

constexpr std::string_view kNsysTool = "uvmsim trace import nsys, conversion 3";
constexpr std::int64_t kShortestKernelNs = 1000;  // duration of a kernel whose whole time is covered by faults

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
    sort_by_time();
    const bool moved = options.accesses == NsysAccesses::kMoved;
    faults_ = attribute_faults(report_, moved);
    summary.unattributed = faults_.unattributed;
    summary.ambiguous = faults_.ambiguous;
    summary.implied_gpu_bytes = faults_.implied_bytes;
    summary.graphs = report_.graphs.launches;
    summary.graph_ns = report_.graphs.gpu_ns;
    infer_objects();
    host_data_ = implied_host_data(report_);
    order();
    account();
    describe(moved);
  }

 private:
  bool go_on() override {
    if (step_ == steps_.size()) return false;
    take(steps_[step_++]);
    return true;
  }

  // The order of steps of equal time: memory is freed first, effects of other steps come last.
  enum class StepKind : std::uint8_t {
    kRange,
    kFree,
    kAllocate,
    kHostData,
    kSync,
    kPrefetch,
    kKernel,
    kCopy,
    kFill,
    kHostAccess,
    kReadBack,
    kCounter
  };
  struct Step {
    std::int64_t time = 0;       // of the call on the host; else the begin on the GPU
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
    sort(report_.calls);
    std::ranges::stable_sort(report_.memory, {}, [](const auto& event) { return event.time; });
  }

  // Adds managed memory that is known only from events.
  void infer_objects() {
    for (const AddressRange& range : unnamed_memory(report_)) {
      allocate(range.lower(), range.upper() - range.lower(), ObjectKind::kManaged, 0);
      ++summary.inferred_objects;
    }
  }

  void order() {
    // Adds a step whose call is not recorded.
    const auto add = [this](std::int64_t time, StepKind kind, std::size_t index) {
      steps_.push_back({time, time, -1, kind, index});
    };
    std::unordered_map<std::int64_t, std::size_t> calls;  // by correlation; never iterated
    for (std::size_t i = 0; i < report_.calls.size(); ++i) {
      const NsysReport::Call& call = report_.calls[i];
      calls.insert_or_assign(call.correlation, i);
      if (is_sync(call)) steps_.push_back({call.start, call.start, call.end, StepKind::kSync, i});
    }
    const auto add_called = [&](std::int64_t correlation, std::int64_t begin, StepKind kind, std::size_t index) {
      const auto found = correlation < 0 ? calls.end() : calls.find(correlation);
      if (found == calls.end()) {
        add(begin, kind, index);
      } else {
        const NsysReport::Call& call = report_.calls[found->second];
        // If the work began before this call, its number belongs to another call.
        const bool plausible = call.start <= begin;
        steps_.push_back({plausible ? call.start : begin, begin, plausible ? call.end : -1, kind, index});
      }
    };
    std::vector<std::int64_t> launches;
    for (std::size_t i = 0; i < report_.kernels.size(); ++i) {
      add_called(report_.kernels[i].correlation, report_.kernels[i].start, StepKind::kKernel, i);
      launches.push_back(steps_.back().time);
    }
    for (std::size_t i = 0; i < report_.copies.size(); ++i) {
      const NsysReport::Copy& copy = report_.copies[i];
      if (copy.migration()) {
        add(copy.start, StepKind::kCounter, i);
        const bool read_back = copy.for_fault() || (copy.for_touch() && options_.accesses == NsysAccesses::kMoved);
        if (copy.migration_to_host() && read_back) add(copy.start, StepKind::kReadBack, i);
      } else if (copy.bytes != 0) {
        add_called(copy.correlation, copy.start, StepKind::kCopy, i);
        blocking_.insert_or_assign(i, is_blocking(copy, calls));
      }
    }
    for (std::size_t i = 0; i < report_.memsets.size(); ++i) {
      add_called(report_.memsets[i].correlation, report_.memsets[i].start, StepKind::kFill, i);
      fill_blocks_.push_back(fill_is_blocking(report_.memsets[i], calls));
    }
    find_prefetches();
    for (std::size_t i = 0; i < report_.memory.size(); ++i) {
      const NsysReport::Memory& event = report_.memory[i];
      add(event.time, event.free ? StepKind::kFree : StepKind::kAllocate, i);
    }
    for (std::size_t i = 0; i < report_.cpu_faults.size(); ++i) {
      add(report_.cpu_faults[i].start, StepKind::kHostAccess, i);
    }
    // One step adds all host data of allocations made at one time: from the index up to the next time.
    for (std::size_t i = 0; i < host_data_.size(); ++i) {
      if (i != 0 && host_data_[i].time == host_data_[i - 1].time) continue;
      add(host_data_[i].time, StepKind::kHostData, i);
    }
    fault_base_ = report_.copies.size();
    for (std::size_t i = 0; i < report_.gpu_faults.size(); ++i) {
      add(report_.gpu_faults[i].start, StepKind::kCounter, fault_base_ + i);
    }
    add_ranges(std::move(launches));
    std::ranges::stable_sort(steps_, {}, [](const Step& step) { return std::tie(step.time, step.kind, step.begin); });
    choose_streams();
  }

  void add_ranges(std::vector<std::int64_t> launches) {
    std::ranges::sort(launches);
    RangesOfReport found = ranges_of_report(report_.ranges, launches, options_.iterations);
    ranges_ = std::move(found.records);
    summary.iteration = std::move(found.iteration);
    summary.iterations = found.iterations;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      steps_.push_back({ranges_[i].time, static_cast<std::int64_t>(i), -1, StepKind::kRange, i});
    }
  }

  // Returns whether a call waits or records an event.
  static bool is_sync(const NsysReport::Call& call) {
    return call.name.find("Synchronize") != std::string::npos || call.name.find("EventRecord") != std::string::npos ||
           call.name.find("StreamWaitEvent") != std::string::npos;
  }

  // A contiguous piece of memory that a call moved to one place.
  struct Prefetched {
    std::uint64_t address = 0, bytes = 0;
    std::int64_t begin = 0;
    std::int32_t destination = 0;
    std::uint32_t stream = 0;
  };
  void find_prefetches() {
    std::vector<const NsysReport::Call*> calls;  // by start
    for (const NsysReport::Call& call : report_.calls) {
      if (call.name.find("MemPrefetch") != std::string::npos || call.name.find("AndPrefetch") != std::string::npos) {
        calls.push_back(&call);
      }
    }
    summary.prefetch_calls = calls.size();
    const auto begun = [&calls](std::int64_t time) {  // number of calls that had begun
      const auto next = std::ranges::upper_bound(calls, time, {}, [](const auto* call) { return call->start; });
      return static_cast<std::size_t>(next - calls.begin());
    };
    for (const NsysReport::Copy& copy : report_.copies) {
      if (!copy.migration() || copy.cause != NsysReport::kCauseUser || copy.bytes == 0) continue;
      const std::int32_t destination = copy.migration_to_host() ? -1 : copy.device;
      Prefetched* last = prefetches_.empty() ? nullptr : &prefetches_.back();
      if (last != nullptr && last->destination == destination && last->address + last->bytes == copy.address &&
          begun(last->begin) == begun(copy.start)) {
        last->bytes += copy.bytes;
      } else {
        prefetches_.push_back({copy.address, copy.bytes, copy.start, destination, 0});
      }
    }
    // The pages of a call move before it returns, or later in the order of its stream.
    std::vector<bool> used(calls.size());
    std::size_t next = 0;  // behind the last call that moved pages
    for (std::size_t i = 0; i < prefetches_.size(); ++i) {
      const std::int64_t begin = prefetches_[i].begin;
      Step step{begin, begin, -1, StepKind::kPrefetch, i};
      if (const std::size_t before = begun(begin); before != 0) {
        const std::size_t last = before - 1;
        const std::size_t chosen = calls[last]->end >= begin ? last : std::min(next, last);
        step.time = calls[chosen]->start;
        step.call_end = calls[chosen]->end;
        used[chosen] = true;
        next = std::max(next, chosen + 1);
      }
      steps_.push_back(step);
    }
    summary.idle_prefetch_calls = static_cast<std::uint64_t>(std::ranges::count(used, false));
  }

  // Sets the streams of prefetches, which are not recorded: that of the next launch, or of the last one.
  void choose_streams() {
    std::uint32_t stream = report_.kernels.back().stream;
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      if (step->kind == StepKind::kKernel) stream = report_.kernels[step->index].stream;
      if (step->kind == StepKind::kPrefetch) prefetches_[step->index].stream = stream;
    }
  }

  // Sums the moved bytes, and those that accesses of kernels explain; bytes that other records explain are added with
  // these records.
  void account() {
    for (const NsysReport::Copy& copy : report_.copies) {
      if (!copy.migration() || copy.cause == NsysReport::kCauseEviction) continue;
      (copy.migration_to_host() ? summary.to_host : summary.to_gpu).recorded += copy.bytes;
    }
    summary.to_gpu.accounted = faults_.moved_bytes;
    for (std::size_t i = 0; i < report_.kernels.size(); ++i) {
      summary.kernel_ns += report_.kernels[i].end - report_.kernels[i].start;
      summary.served_ns += faults_.served_ns[i];
    }
  }

  void describe(bool moved) {
    const auto any = [this](bool to_host) {
      return std::ranges::any_of(report_.copies, [&](const NsysReport::Copy& copy) {
        return copy.migration() && copy.migration_to_host() == to_host && copy.for_fault();
      });
    };
    const bool gpu_faults_missing = report_.gpu_faults.empty() && any(false);
    if (gpu_faults_missing) summary.not_recorded.emplace_back("GPU faults (--cuda-um-gpu-page-faults=true)");
    if (report_.cpu_faults.empty() && any(true)) {
      summary.not_recorded.emplace_back("CPU faults (--cuda-um-cpu-page-faults=true)");
    }
    if (summary.inferred_objects != 0) summary.not_recorded.emplace_back("allocations (--cuda-memory-usage=true)");
    if (report_.calls.empty()) summary.not_recorded.emplace_back("calls of CUDA (--trace=cuda)");
    if (summary.graphs != 0) summary.not_recorded.emplace_back("kernels of graphs (--cuda-graph-trace=node)");
    header.attributes = {
        {"accesses",
         moved ? "pages that faulted and what the driver moved with them" : "pages that faulted: a lower bound"},
        {"durations", summary.served_ns == 0 ? "recorded"
                      : gpu_faults_missing
                          ? "recorded, less the time of migrations for faults and of the driver's work around them"
                          : "recorded, less the time in which faults were served"}};
    std::string missing;
    for (const std::string& what : summary.not_recorded) missing += (missing.empty() ? "" : ", ") + what;
    if (!missing.empty()) header.attributes.emplace_back("not recorded", missing);
  }

  bool is_blocking(const NsysReport::Copy& copy, const std::unordered_map<std::int64_t, std::size_t>& calls) const {
    const auto found = calls.find(copy.correlation);
    return found == calls.end() || report_.calls[found->second].name.find("Async") == std::string::npos;
  }

  // Returns whether the host waits, by the call's name: cudaMemset, cuMemsetD8 and the like wait, cudaMemsetAsync does
  // not. If the call is unknown, the host goes on.
  bool fill_is_blocking(const NsysReport::Memset& fill,
                        const std::unordered_map<std::int64_t, std::size_t>& calls) const {
    const auto found = calls.find(fill.correlation);
    if (found == calls.end()) return false;
    const std::string& name = report_.calls[found->second].name;
    return name.find("Memset") != std::string::npos && name.find("Async") == std::string::npos;
  }

  void take(const Step& step) {
    // The functions are in the order of StepKind.
    constexpr std::array kTake = {&NsysConversion::range,       &NsysConversion::memory,      &NsysConversion::memory,
                                  &NsysConversion::host_data,   &NsysConversion::synchronize, &NsysConversion::prefetch,
                                  &NsysConversion::kernel,      &NsysConversion::copy,        &NsysConversion::fill,
                                  &NsysConversion::host_access, &NsysConversion::read_back,   &NsysConversion::counter};
    // All host accesses between two calls become one record.
    if (step.kind < StepKind::kHostAccess) finish_host_access();
    (this->*kTake.at(static_cast<std::size_t>(step.kind)))(step);
    if (step_ == steps_.size()) finish_host_access();
  }

  void range(const Step& step) { ready.emplace_back(ranges_[step.index].range); }

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
    if (kind == ObjectKind::kManaged) managed_.insert(id);
    ready.emplace_back(ObjectAlloc{id, kind, bytes, address, device});
  }

  void release(std::uint64_t address) {
    const AddressMap::Entry entry = live_.remove(address);
    if (entry.id != kNoObject) ready.emplace_back(ObjectFree{entry.id});
  }

  // Returns the host time since the previous call returned.
  std::int64_t host_gap(const Step& step) {
    if (step.call_end < 0) return 0;
    const std::int64_t gap = last_call_end_ < 0 ? 0 : std::max<std::int64_t>(step.time - last_call_end_, 0);
    last_call_end_ = std::max(last_call_end_, step.call_end);
    return gap;
  }

  void synchronize(const Step& step) {
    const NsysReport::Call& call = report_.calls[step.index];
    const auto named = [&call](const char* part) { return call.name.find(part) != std::string::npos; };
    NsysReport::Reference of;
    if (const auto found = report_.references.find(call.correlation); found != report_.references.end()) {
      of = found->second;
    }
    Sync out;
    if (named("EventRecord")) {
      if (!of.stream || !of.event) return;  // no call can wait for it
      out = {SyncKind::kEventRecord, *of.stream, event_number(*of.event)};
    } else if (named("StreamWaitEvent")) {
      if (!of.stream || !of.event || !events_.contains(*of.event)) {
        ++summary.lost_waits;
        return;
      }
      out = {SyncKind::kEventWait, *of.stream, event_number(*of.event)};
    } else if (named("StreamSynchronize") && of.stream) {
      out = {SyncKind::kStream, *of.stream, 0};
    } else if (named("EventSynchronize") && of.event && events_.contains(*of.event)) {
      out = {SyncKind::kEventSynchronize, 0, event_number(*of.event)};
    } else if (named("StreamSynchronize") || named("EventSynchronize")) {
      ++summary.vague_waits;
    }
    out.host_gap_ns = host_gap(step);
    ready.emplace_back(out);
    if (out.kind == SyncKind::kDevice) gpu_busy_until_ = 0;
  }
  // Numbers events by first appearance, as the report's numbers may be any.
  std::uint64_t event_number(std::uint64_t event) {
    return events_.try_emplace(event, events_.size() + 1).first->second;
  }

  void prefetch(const Step& step) {
    const Prefetched& in = prefetches_[step.index];
    const std::int64_t gap = host_gap(step);
    bool first = true;
    for (const AddressMap::Entry& entry : live_.overlapping(in.address, in.bytes)) {
      const std::uint64_t from = std::max(in.address, entry.address);
      const std::uint64_t to = std::min(in.address + in.bytes, entry.address + entry.bytes);
      ready.emplace_back(
          Prefetch{entry.id, from - entry.address, to - from, in.destination, in.stream, first ? gap : 0});
      (in.destination < 0 ? summary.to_host : summary.to_gpu).accounted += to - from;
      first = false;
    }
    if (first) ++summary.outside;
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

  // Returns the managed object of an operation without an address, if only one is possible.
  ObjectId managed_of(std::uint64_t bytes) const {
    ObjectId exact = kNoObject, larger = kNoObject;
    std::uint64_t exact_ones = 0, larger_ones = 0;
    for (const auto& [address, entry] : live_.entries()) {
      if (entry.bytes < bytes || !managed_.contains(entry.id)) continue;
      (entry.bytes == bytes ? exact : larger) = entry.id;
      ++(entry.bytes == bytes ? exact_ones : larger_ones);
    }
    if (exact_ones == 1) return exact;
    return exact_ones == 0 && larger_ones == 1 ? larger : kNoObject;
  }

  void copy(const Step& step) {
    const NsysReport::Copy& in = report_.copies[step.index];
    Memcpy out;
    out.bytes = in.bytes;
    out.kind = copy_kind(in.kind);
    out.stream = in.stream;
    out.blocking = blocking_.at(step.index);
    out.host_gap_ns = host_gap(step);
    const bool from = NsysReport::is_managed(in.source_kind), to = NsysReport::is_managed(in.destination_kind);
    if (from != to) (from ? out.src : out.dst).object = managed_of(in.bytes);
    if ((from || to) && out.src.object == kNoObject && out.dst.object == kNoObject) ++summary.unplaced_copies;
    ready.emplace_back(out);
  }

  void fill(const Step& step) {
    const NsysReport::Memset& in = report_.memsets[step.index];
    ++summary.fills;
    const ObjectId object = NsysReport::is_managed(in.kind) ? managed_of(in.bytes) : kNoObject;
    if (object == kNoObject) {
      ++summary.fills_left_out;
      return;
    }
    ready.emplace_back(Memset{object, 0, in.bytes, in.stream, host_gap(step), fill_blocks_.at(step.index)});
  }

  void host_access(const Step& step) {
    const NsysReport::Fault& fault = report_.cpu_faults[step.index];
    wait_for_kernels(fault.start);
    const AddressMap::Entry entry = live_.find(fault.address);
    if (entry.id == kNoObject) {
      ++summary.outside;
    } else {
      // Only the part of the page that belongs to the object counts.
      const std::uint64_t page = fault.address / kBasePageBytes * kBasePageBytes;
      const std::uint64_t from = std::max(page, entry.address) - entry.address;
      const std::uint64_t to = std::min(page + kBasePageBytes, entry.address + entry.bytes) - entry.address;
      touched_by_host_.add(entry.id, from / NsysImporter::kQuantumBytes,
                           (to + NsysImporter::kQuantumBytes - 1) / NsysImporter::kQuantumBytes,
                           AccessMode::kReadWrite);
    }
    put_counter("cpu_fault", fault.address, fault.count, fault.start, fault.start, 0);
  }

  void read_back(const Step& step) {
    const NsysReport::Copy& in = report_.copies[step.index];
    wait_for_kernels(in.start);
    const std::uint64_t outside =
        live_.add_accesses(in.address, in.bytes, AccessMode::kReadWrite, NsysImporter::kQuantumBytes, touched_by_host_);
    summary.to_host.accounted += in.bytes - outside;
    if (outside == in.bytes) ++summary.outside;
  }

  // Adds a wait if calls are not recorded: if the host touches pages after a kernel's end, it waited for the kernel.
  void wait_for_kernels(std::int64_t time) {
    if (!report_.calls.empty() || gpu_busy_until_ == 0 || time < gpu_busy_until_) return;
    finish_host_access();
    ready.emplace_back(Sync{});
    gpu_busy_until_ = 0;
  }

  void finish_host_access() {
    for (ObjectAccess& access : touched_by_host_.take()) {
      ready.emplace_back(HostAccess{access.object, std::move(access.extents), {}, 0});
    }
  }

  // Writes the data right after the allocation, as the report does not say when.
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
  std::vector<TimedRange> ranges_;
  std::vector<Prefetched> prefetches_;
  std::unordered_map<std::size_t, bool> blocking_;           // of copies; never iterated
  std::vector<bool> fill_blocks_;                            // of fills
  std::unordered_map<std::uint64_t, std::uint64_t> events_;  // numbers of recorded events; never iterated
  std::unordered_set<ObjectId> managed_;                     // never iterated
  AccessSet touched_by_host_;                                // since the last call
  std::size_t step_ = 0, fault_base_ = 0;
  AddressMap live_;
  std::int64_t last_call_end_ = -1, gpu_busy_until_ = 0;
};

}  // namespace

NsysImporter::NsysImporter(const std::string& path, const NsysImportOptions& options)
    : Importer(std::make_unique<NsysConversion>(path, options)) {}

}  // namespace uvmsim::trace
