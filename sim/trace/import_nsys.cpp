#include "sim/trace/import_nsys.h"

#include <algorithm>
#include <deque>
#include <tuple>
#include <unordered_map>

#include "sim/common/error.h"
#include "sim/common/units.h"
#include "sim/trace/address_map.h"
#include "sim/trace/kernel_names.h"
#include "sim/trace/nsys_report.h"

namespace uvmsim::trace {

namespace {

constexpr std::string_view kTool = "uvmsim trace import nsys, conversion 1";
constexpr std::uint32_t kCauseFault = 2;
constexpr std::int64_t kShortestKernelNs = 1000;  // what is left when faults cover all of a kernel

struct AddressRange {
  std::uint64_t begin = 0, end = 0;
};

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

CopyKind copy_kind(std::uint32_t kind) {
  switch (kind) {
    case 1:
    case 3:
      return CopyKind::kHostToDevice;
    case 2:
    case 4:
      return CopyKind::kDeviceToHost;
    case 9:
      return CopyKind::kHostToHost;
    case 0:
      return CopyKind::kDefault;
    default:
      return CopyKind::kDeviceToDevice;
  }
}

// A page that a kernel is known to have touched.
struct TouchedPages {
  std::uint64_t address = 0, bytes = 0;
  AccessMode mode = AccessMode::kRead;
};

}  // namespace

class NsysImporter::State {
 public:
  State(const std::string& path, const NsysImportOptions& options)
      : report_(read_nsys_report(path, options.process)), options_(options) {
    header.quantum_bytes = kQuantumBytes;
    header.tool = kTool;
    header.gpu = report_.gpu;
    header.program = path;
    header.provenance = options.provenance;
    header.attributes = {{"accesses", "pages that faulted: a lower bound"},
                         {"durations", "recorded, less the time in which faults were served"}};
    sort_by_time();
    attribute_faults();
    infer_objects();
    order();
  }

  bool next(Record& record) {
    while (ready_.empty() && step_ < steps_.size()) take(steps_[step_++]);
    if (ready_.empty()) return false;
    record = std::move(ready_.front());
    ready_.pop_front();
    return true;
  }

  Header header;
  NsysImportSummary summary;

 private:
  // At one time: what frees memory comes first, what is a consequence comes last.
  enum class StepKind : std::uint8_t { kFree, kAllocate, kSync, kKernel, kCopy, kHostAccess, kCounter };
  struct Step {
    std::int64_t time = 0;       // the call's, on the host; else when it began
    std::int64_t begin = 0;      // on the GPU
    std::int64_t call_end = -1;  // of the call; -1: none recorded
    StepKind kind = StepKind::kKernel;
    std::size_t index = 0;
  };

  void sort_by_time() {
    const auto by_start = [](const auto& a, const auto& b) { return a.start < b.start; };
    std::stable_sort(report_.kernels.begin(), report_.kernels.end(), by_start);
    std::stable_sort(report_.copies.begin(), report_.copies.end(), by_start);
    std::stable_sort(report_.gpu_faults.begin(), report_.gpu_faults.end(), by_start);
    std::stable_sort(report_.cpu_faults.begin(), report_.cpu_faults.end(), by_start);
    origin_ = report_.kernels.front().start;
    const auto earlier = [this](const auto& list) {
      if (!list.empty()) origin_ = std::min(origin_, list.front().start);
    };
    earlier(report_.copies);
    earlier(report_.gpu_faults);
    earlier(report_.cpu_faults);
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

  void attribute_faults() {
    touched_.resize(report_.kernels.size());
    served_.resize(report_.kernels.size());
    std::vector<std::int64_t> served_until(report_.kernels.size(), 0);
    const auto note = [this](std::size_t kernel, bool ambiguous, const TouchedPages& pages) {
      if (kernel == Running::kNone) {
        ++summary.unattributed;
        return;
      }
      summary.ambiguous += ambiguous ? 1 : 0;
      touched_[kernel].push_back(pages);
    };
    bool ambiguous = false;
    Running during_faults(report_.kernels);
    for (const NsysReport::Fault& fault : report_.gpu_faults) {
      const std::size_t kernel = during_faults.at(fault.start, ambiguous);
      note(kernel, ambiguous, {fault.address / kBasePageBytes * kBasePageBytes, kBasePageBytes, mode_of(fault.access)});
      if (kernel == Running::kNone) continue;
      const std::int64_t begin = std::max(fault.start, served_until[kernel]);
      const std::int64_t end = std::min(fault.end, report_.kernels[kernel].end);
      if (end > begin) {
        served_[kernel] += end - begin;
        served_until[kernel] = end;
      }
    }
    Running during_copies(report_.kernels);
    std::size_t batch = 0;  // the batch that was being served: the last one that began before
    for (const NsysReport::Copy& copy : report_.copies) {
      if (copy.kind != 11 || copy.cause != kCauseFault || copy.bytes == 0) continue;
      while (batch < report_.gpu_faults.size() && report_.gpu_faults[batch].start <= copy.start) ++batch;
      const AccessMode mode = batch == 0 ? AccessMode::kReadWrite : mode_of(report_.gpu_faults[batch - 1].access);
      note(during_copies.at(copy.start, ambiguous), ambiguous, {copy.address, copy.bytes, mode});
    }
  }

  // Managed memory that only events speak of.
  void infer_objects() {
    std::vector<AddressRange> named, seen;
    for (const NsysReport::Memory& event : report_.memory) {
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
    for (const NsysReport::Copy& copy : report_.copies) {
      if (copy.migration() && copy.bytes != 0) see(copy.address, copy.bytes);
    }
    for (const auto* faults : {&report_.gpu_faults, &report_.cpu_faults}) {
      for (const NsysReport::Fault& fault : *faults) see(fault.address, 1);
    }
    for (const AddressRange& range : without(joined(std::move(seen)), joined(std::move(blocks)))) {
      allocate(range.begin, range.end - range.begin, ObjectKind::kManaged, 0);
      ++summary.inferred_objects;
    }
  }

  void order() {
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
        steps_.push_back({begin, begin, -1, kind, index});
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
        steps_.push_back({copy.start, copy.start, -1, StepKind::kCounter, i});
      } else {
        add_called(copy.correlation, copy.start, StepKind::kCopy, i);
        blocking_.insert_or_assign(i, is_blocking(copy, calls));
      }
    }
    for (std::size_t i = 0; i < report_.memory.size(); ++i) {
      const NsysReport::Memory& event = report_.memory[i];
      steps_.push_back({event.time, event.time, -1, event.free ? StepKind::kFree : StepKind::kAllocate, i});
    }
    for (std::size_t i = 0; i < report_.cpu_faults.size(); ++i) {
      steps_.push_back({report_.cpu_faults[i].start, report_.cpu_faults[i].start, -1, StepKind::kHostAccess, i});
    }
    fault_base_ = report_.copies.size();
    for (std::size_t i = 0; i < report_.gpu_faults.size(); ++i) {
      steps_.push_back(
          {report_.gpu_faults[i].start, report_.gpu_faults[i].start, -1, StepKind::kCounter, fault_base_ + i});
    }
    std::stable_sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) {
      return std::tie(a.time, a.kind, a.begin) < std::tie(b.time, b.kind, b.begin);
    });
  }

  bool is_blocking(const NsysReport::Copy& copy, const std::unordered_map<std::int64_t, std::size_t>& calls) const {
    const auto found = calls.find(copy.correlation);
    return found == calls.end() || report_.calls[found->second].name.find("Async") == std::string::npos;
  }

  void take(const Step& step) {
    switch (step.kind) {
      case StepKind::kFree:
        release(report_.memory[step.index].address);
        break;
      case StepKind::kAllocate: {
        const NsysReport::Memory& event = report_.memory[step.index];
        allocate(event.address, event.bytes, event.kind, event.device);
        break;
      }
      case StepKind::kSync:
        synchronize(step);
        break;
      case StepKind::kKernel:
        kernel(step);
        break;
      case StepKind::kCopy:
        copy(step);
        break;
      case StepKind::kHostAccess:
        host_access(step);
        break;
      case StepKind::kCounter:
        counter(step.index);
        break;
    }
  }

  void allocate(std::uint64_t address, std::uint64_t bytes, ObjectKind kind, std::int32_t device) {
    for (const AddressMap::Entry& old : live_.overlapping(address, bytes)) {
      release(old.address);
      ++summary.missing_frees;
    }
    const ObjectId id = ++summary.objects;
    live_.insert(id, address, bytes);
    ready_.emplace_back(ObjectAlloc{id, kind, bytes, address, device});
  }

  void release(std::uint64_t address) {
    const AddressMap::Entry entry = live_.remove(address);
    if (entry.id != kNoObject) ready_.emplace_back(ObjectFree{entry.id});
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
    ready_.emplace_back(out);
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
    out.duration_ns = std::max(recorded - served_[step.index], std::min(recorded, kShortestKernelNs));
    out.distribution = distribution_by_name(out.name);
    AccessSet set;
    for (const TouchedPages& pages : touched_[step.index]) {
      if (live_.add_accesses(pages.address, pages.bytes, pages.mode, kQuantumBytes, set) == pages.bytes) {
        ++summary.outside;
      }
    }
    out.accesses = set.take();
    out.coverage = out.accesses.empty() ? Coverage::kNone : Coverage::kDeclared;
    summary.covered_kernels += out.accesses.empty() ? 0 : 1;
    ++summary.kernels;
    gpu_busy_until_ = std::max(gpu_busy_until_, in.end);
    ready_.emplace_back(std::move(out));
  }

  void copy(const Step& step) {
    const NsysReport::Copy& in = report_.copies[step.index];
    Memcpy out;
    out.bytes = in.bytes;
    out.kind = copy_kind(in.kind);
    out.stream = in.stream;
    out.blocking = blocking_.at(step.index);
    out.host_gap_ns = host_gap(step);
    ready_.emplace_back(out);
  }

  void host_access(const Step& step) {
    const NsysReport::Fault& fault = report_.cpu_faults[step.index];
    AccessSet set;
    const std::uint64_t page = fault.address / kBasePageBytes * kBasePageBytes;
    live_.add_accesses(page, kBasePageBytes, AccessMode::kReadWrite, kQuantumBytes, set);
    std::vector<ObjectAccess> accesses = set.take();
    // Without recorded calls nothing says that the host waited; what it touches after a kernel's end it waited for.
    if (report_.calls.empty() && gpu_busy_until_ != 0 && fault.start >= gpu_busy_until_) {
      ready_.emplace_back(Sync{});
      gpu_busy_until_ = 0;
    }
    summary.outside += accesses.empty() ? 1 : 0;
    for (ObjectAccess& access : accesses) {
      if (live_.find(fault.address).id != access.object) continue;  // a neighbour on the same page
      HostAccess out;
      out.object = access.object;
      out.extents = std::move(access.extents);
      ready_.emplace_back(std::move(out));
    }
    put_counter("cpu_fault", fault.address, fault.count, fault.start, fault.start, 0);
  }

  void counter(std::size_t index) {
    if (index >= fault_base_) {
      const NsysReport::Fault& fault = report_.gpu_faults[index - fault_base_];
      put_counter("gpu_fault", fault.address, fault.count, fault.start, fault.end, fault.access);
      return;
    }
    const NsysReport::Copy& copy = report_.copies[index];
    put_counter(copy.kind == 11   ? "htod"
                : copy.kind == 12 ? "dtoh"
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
    ready_.emplace_back(std::move(out));
  }

  NsysReport report_;
  NsysImportOptions options_;
  std::int64_t origin_ = 0;
  std::vector<std::vector<TouchedPages>> touched_;  // by kernel
  std::vector<std::int64_t> served_;                // ns of each kernel in which a fault batch was served
  std::vector<Step> steps_;
  std::unordered_map<std::size_t, bool> blocking_;  // copies; only looked up
  std::size_t step_ = 0, fault_base_ = 0;
  AddressMap live_;
  std::deque<Record> ready_;
  std::int64_t last_call_end_ = -1, gpu_busy_until_ = 0;
};

NsysImporter::NsysImporter(const std::string& path, const NsysImportOptions& options)
    : state_(std::make_unique<State>(path, options)) {}
NsysImporter::~NsysImporter() = default;
NsysImporter::NsysImporter(NsysImporter&&) noexcept = default;

const Header& NsysImporter::header() const { return state_->header; }
bool NsysImporter::next(Record& record) { return state_->next(record); }
const NsysImportSummary& NsysImporter::summary() const { return state_->summary; }

}  // namespace uvmsim::trace
