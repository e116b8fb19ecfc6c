// SPDX-License-Identifier: Apache-2.0
#include "sim/import/nsys_report.h"

#include <fmt/ranges.h>

#include <iterator>
#include <set>
#include <sstream>

#include "sim/common/error.h"
#include "sim/formats/sqlite_reader.h"
#include "sim/trace/limits.h"
#include "sim/trace/names.h"

namespace uvmsim::trace {

namespace {

constexpr std::int64_t kLatest = std::int64_t{1} << 61;
constexpr auto kHighestAddress = static_cast<std::int64_t>(kMaxAddress - 1);
constexpr auto kMostBytes = static_cast<std::int64_t>(kMaxObjectBytes);
constexpr std::int64_t kAny = INT64_MAX;

using Row = SqliteReader::Row;

class ReportReader {
 public:
  ReportReader(const std::string& path, std::optional<std::uint32_t> process)
      : path_(path), database_(path), process_(process) {}

  NsysReport read() {
    choose_process();
    read_strings();
    read_kernels();
    read_copies();
    read_faults();
    read_memory();
    read_calls();
    database_.each("TARGET_INFO_GPU", {"name"}, 1, [&](const Row& row) {
      if (report_.gpu.empty()) report_.gpu = printable(row.text(0));
    });
    return std::move(report_);
  }

 private:
  // Nsight packs ids of process and thread in one number: hardware, machine, process, thread (8, 8, 24, 24 bits).
  static std::uint32_t process_of(std::int64_t global) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(global) >> 24 & 0xffffff);
  }
  // Rows of the process, which `id` names in its own column. `columns` are separated by blanks.
  void each(std::string_view table, const std::string& columns, std::size_t first_optional, const auto& take,
            const std::string& id = "globalPid") const {
    std::istringstream words(columns);
    std::vector<std::string> names{std::istream_iterator<std::string>(words), {}};
    names.push_back(id);
    database_.each(table, names, first_optional, [&](const Row& row) {
      const std::size_t at = names.size() - 1;
      if (!process_ || !row.has(at) || process_of(row.required(at, INT64_MIN, kAny)) == *process_) take(row);
    });
  }

  void choose_process() {
    if (!database_.has_table("CUPTI_ACTIVITY_KIND_KERNEL")) {
      throw_input_error("{}: no kernels (table CUPTI_ACTIVITY_KIND_KERNEL); record with --trace=cuda", path_);
    }
    std::set<std::uint32_t> found;
    database_.each("CUPTI_ACTIVITY_KIND_KERNEL", {"start", "globalPid"}, 1, [&](const Row& row) {
      if (row.has(1)) found.insert(process_of(row.required(1, INT64_MIN, kAny)));
    });
    if (process_ && !found.contains(*process_)) {
      throw_input_error("{}: process {} launched no kernel; those that did: {}", path_, *process_,
                        fmt::join(found, ", "));
    }
    if (!process_ && found.size() > 1) {
      throw_input_error("{}: {} processes launched kernels; choose one with --process: {}", path_, found.size(),
                        fmt::join(found, ", "));
    }
    if (!process_ && !found.empty()) process_ = *found.begin();
  }

  void read_strings() {
    database_.each("StringIds", {"id", "value"}, 2, [&](const Row& row) {
      const std::string value = row.text(1);
      report_.strings.insert_or_assign(row.required(0, INT64_MIN, kAny), is_utf8(value) ? value : printable(value));
    });
  }

  static std::uint32_t number(const Row& row, std::size_t column, std::int64_t least = 0) {
    return static_cast<std::uint32_t>(row.integer(column, least, UINT32_MAX, least));
  }
  static std::int32_t device(const Row& row, std::size_t column) {
    return static_cast<std::int32_t>(row.integer(column, 0, kMaxDevice, 0));
  }

  void read_kernels() {
    constexpr auto kColumns =
        "start end deviceId streamId gridX gridY gridZ blockX blockY blockZ correlationId demangledName shortName "
        "registersPerThread staticSharedMemory dynamicSharedMemory";
    each("CUPTI_ACTIVITY_KIND_KERNEL", kColumns, 2, [&](const Row& row) {
      NsysReport::Kernel& kernel = report_.kernels.emplace_back();
      kernel.start = row.required(0, 0, kLatest);
      kernel.end = row.required(1, kernel.start, kLatest);
      kernel.device = device(row, 2);
      kernel.stream = number(row, 3);
      kernel.grid = {number(row, 4, 1), number(row, 5, 1), number(row, 6, 1)};
      kernel.block = {number(row, 7, 1), number(row, 8, 1), number(row, 9, 1)};
      kernel.correlation = row.integer(10, INT64_MIN, kAny, -1);
      kernel.name = row.has(11) ? row.required(11, INT64_MIN, kAny) : row.integer(12, INT64_MIN, kAny, -1);
      kernel.registers = number(row, 13);
      kernel.shared_bytes = static_cast<std::uint32_t>(row.integer(14, 0, 1 << 24, 0) + row.integer(15, 0, 1 << 24, 0));
    });
    if (report_.kernels.empty()) throw_input_error("{}: no kernels", path_);
  }

  void read_copies() {
    constexpr auto kColumns = "start end bytes copyKind deviceId streamId correlationId migrationCause virtualAddress";
    each("CUPTI_ACTIVITY_KIND_MEMCPY", kColumns, 4, [&](const Row& row) {
      NsysReport::Copy copy;
      copy.start = row.required(0, 0, kLatest);
      copy.end = row.required(1, copy.start, kLatest);
      copy.bytes = static_cast<std::uint64_t>(row.required(2, 0, kMostBytes));
      copy.kind = static_cast<std::uint32_t>(row.required(3, 0, 1000));
      copy.device = device(row, 4);
      copy.stream = copy.migration() ? 0 : number(row, 5);
      copy.correlation = row.integer(6, INT64_MIN, kAny, -1);
      copy.cause = static_cast<std::uint32_t>(row.integer(7, 0, 1000, 0));
      if (copy.migration()) copy.address = static_cast<std::uint64_t>(row.required(8, 1, kHighestAddress));
      report_.copies.push_back(copy);
    });
  }

  void read_faults() {
    constexpr auto kGpuColumns = "start address end numberOfPageFaults faultAccessType deviceId";
    each("CUDA_UM_GPU_PAGE_FAULT_EVENTS", kGpuColumns, 2, [&](const Row& row) {
      NsysReport::Fault fault;
      fault.start = row.required(0, 0, kLatest);
      fault.address = static_cast<std::uint64_t>(row.required(1, 1, kHighestAddress));
      fault.end = row.has(2) ? row.required(2, fault.start, kLatest) : fault.start;
      fault.count = static_cast<std::uint64_t>(row.integer(3, 0, INT32_MAX, 1));
      fault.access = static_cast<std::uint32_t>(row.integer(4, 0, 1000, 0));
      fault.device = device(row, 5);
      report_.gpu_faults.push_back(fault);
    });
    each("CUDA_UM_CPU_PAGE_FAULT_EVENTS", "start address", 2, [&](const Row& row) {
      NsysReport::Fault fault;
      fault.start = fault.end = row.required(0, 0, kLatest);
      fault.address = static_cast<std::uint64_t>(row.required(1, 1, kHighestAddress));
      fault.count = 1;
      report_.cpu_faults.push_back(fault);
    });
  }

  void read_memory() {
    constexpr auto kColumns = "start address bytes memKind memoryOperationType deviceId";
    each("CUDA_GPU_MEMORY_USAGE_EVENTS", kColumns, 5, [&](const Row& row) {
      NsysReport::Memory event;
      const std::int64_t kind = row.required(3, 0, 1000), operation = row.required(4, 0, 1000);
      const bool managed = kind == 4 || kind == 6;
      if (operation > 1 || !(managed || kind == 1 || kind == 2 || kind == 5)) return;
      event.time = row.required(0, 0, kLatest);
      event.address = static_cast<std::uint64_t>(row.required(1, 0, kHighestAddress));
      event.free = operation == 1;
      event.bytes = static_cast<std::uint64_t>(row.required(2, 0, kMostBytes));
      event.kind = managed ? ObjectKind::kManaged : kind == 1 ? ObjectKind::kPinned : ObjectKind::kDevice;
      event.device = device(row, 5);
      if (event.address != 0 && (event.bytes != 0 || event.free)) report_.memory.push_back(event);
    });
  }

  void read_calls() {
    const auto read_call = [&](const Row& row) {
      NsysReport::Call& call = report_.calls.emplace_back();
      call.start = row.required(0, 0, kLatest);
      call.end = row.required(1, call.start, kLatest);
      call.correlation = row.required(2, INT64_MIN, kAny);
      call.name = report_.text(row.required(3, INT64_MIN, kAny));
    };
    each("CUPTI_ACTIVITY_KIND_RUNTIME", "start end correlationId nameId", 4, read_call, "globalTid");
    each("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "correlationId streamId", 1, [&](const Row& row) {
      if (!row.has(1)) return;
      const std::int64_t stream = row.required(1, INT64_MIN, kAny);
      if (stream < 0 || stream > UINT32_MAX) return;  // none
      report_.synchronized_streams.insert_or_assign(row.required(0, INT64_MIN, kAny),
                                                    static_cast<std::uint32_t>(stream));
    });
  }

  std::string path_;
  SqliteReader database_;
  std::optional<std::uint32_t> process_;
  NsysReport report_;
};

}  // namespace

std::string NsysReport::text(std::int64_t id) const {
  const auto found = strings.find(id);
  return found == strings.end() ? std::string() : found->second;
}

NsysReport read_nsys_report(const std::string& path, std::optional<std::uint32_t> process) {
  return ReportReader(path, process).read();
}

}  // namespace uvmsim::trace
