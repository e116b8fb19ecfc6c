// SPDX-License-Identifier: Apache-2.0
#include "sim/import/nsys_report.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "sim/common/error.h"
#include "sim/formats/sqlite_reader.h"
#include "sim/trace/foreign.h"
#include "sim/trace/limits.h"
#include "sim/trace/names.h"

namespace uvmsim::trace {

namespace {

constexpr std::int64_t kLatest = std::int64_t{1} << 61;
constexpr auto kHighestAddress = static_cast<std::int64_t>(kMaxAddress - 1);
constexpr auto kMostBytes = static_cast<std::int64_t>(kMaxObjectBytes);
constexpr std::int64_t kAny = INT64_MAX;

std::string milliseconds(std::int64_t ns) {
  return fmt::format("{}{}", ns / 1000000, ns % 1000000 == 0 ? "" : fmt::format(".{:03}", ns / 1000 % 1000));
}

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
    read_memsets();
    read_calls();
    read_references();
    read_ranges();
    report_.graphs = graphs();
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
  // Reads the rows of the process, whose id is in the column `id`. `columns` are separated by blanks.
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
    refuse_other_databases();
    if (database_.rows("CUPTI_ACTIVITY_KIND_KERNEL") == 0) refuse_without_kernels();
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
  }

  NsysReport::Graphs graphs() const {
    NsysReport::Graphs graphs;
    each("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "start end", 2, [&](const Row& row) {
      const std::int64_t start = row.required(0, 0, kLatest);
      ++graphs.launches;
      graphs.gpu_ns = std::min(kLatest, graphs.gpu_ns + row.required(1, start, kLatest) - start);
    });
    return graphs;
  }

  void refuse_other_databases() const {
    if (database_.has_table("StringTable") && !database_.has_table("StringIds")) {
      throw_input_error(
          "{}: an export of nvprof (tables StringTable, Version), not of Nsight Systems; nvprof's are not read: record "
          "with `nsys profile`, then `nsys export --type sqlite`",
          path_);
    }
    if (database_.has_table("StringIds") || database_.has_table("CUPTI_ACTIVITY_KIND_KERNEL")) return;
    std::vector<std::string> tables = database_.tables();
    constexpr std::size_t kShown = 4;
    const bool more = tables.size() > kShown;
    tables.resize(std::min(tables.size(), kShown));
    for (std::string& table : tables) table = printable(table);
    throw_input_error("{}: no kernels: an SQLite database, but no report of Nsight Systems (its tables: {}{})", path_,
                      tables.empty() ? "none" : fmt::format("{}", fmt::join(tables, ", ")), more ? ", ..." : "");
  }

  [[noreturn]] void refuse_without_kernels() const {
    const NsysReport::Graphs launched = graphs();
    if (launched.launches != 0) {
      throw_input_error(
          "{}: no kernels: {} graph launches ({} ms of GPU time) were recorded as wholes; record with "
          "--cuda-graph-trace=node",
          path_, launched.launches, milliseconds(launched.gpu_ns));
    }
    const std::uint64_t calls = database_.rows("CUPTI_ACTIVITY_KIND_RUNTIME");
    if (calls != 0) {
      throw_input_error(
          "{}: no kernels: CUDA was traced ({} calls), but the program launched none or ended before they were "
          "recorded",
          path_, calls);
    }
    throw_input_error("{}: no kernels and no calls of CUDA: it was not traced; record with --trace=cuda", path_);
  }

  void read_copies() {
    constexpr auto kColumns =
        "start end bytes copyKind deviceId streamId correlationId migrationCause virtualAddress srcKind dstKind "
        "srcDeviceId dstDeviceId";
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
      copy.source_kind = number(row, 9);
      copy.destination_kind = number(row, 10);
      if (copy.migration()) {
        copy.address = static_cast<std::uint64_t>(row.required(8, 1, kHighestAddress));
        const std::size_t side = copy.migration_to_host() ? 11 : 12;
        if (row.has(side)) copy.device = device(row, side);
      }
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

  void read_memsets() {
    each("CUPTI_ACTIVITY_KIND_MEMSET", "start end bytes deviceId streamId correlationId memKind", 3,
         [&](const Row& row) {
           NsysReport::Memset set;
           set.start = row.required(0, 0, kLatest);
           set.end = row.required(1, set.start, kLatest);
           set.bytes = static_cast<std::uint64_t>(row.required(2, 0, kMostBytes));
           set.device = device(row, 3);
           set.stream = number(row, 4);
           set.correlation = row.integer(5, INT64_MIN, kAny, -1);
           set.kind = number(row, 6);
           if (set.bytes != 0) report_.memsets.push_back(set);
         });
  }

  void read_calls() {
    const auto read_call = [&](const Row& row) {
      NsysReport::Call& call = report_.calls.emplace_back();
      call.start = row.required(0, 0, kLatest);
      call.end = row.required(1, call.start, kLatest);
      call.correlation = row.required(2, INT64_MIN, kAny);
      call.name = report_.text(row.required(3, INT64_MIN, kAny));
      call.thread = row.integer(4, INT64_MIN, kAny, 0);
    };
    each("CUPTI_ACTIVITY_KIND_RUNTIME", "start end correlationId nameId", 4, read_call, "globalTid");
  }

  // Reads the streams and events of calls; 4294967295 means none.
  void read_references() {
    const auto read = [&](const Row& row) {
      if (!row.has(0)) return;
      const auto known = [&row](std::size_t column, std::int64_t most) -> std::optional<std::uint64_t> {
        if (!row.has(column)) return {};
        const std::int64_t value = row.required(column, INT64_MIN, kAny);
        if (value < 0 || value >= most) return {};
        return static_cast<std::uint64_t>(value);
      };
      NsysReport::Reference reference;
      if (const auto stream = known(1, UINT32_MAX)) reference.stream = static_cast<std::uint32_t>(*stream);
      if (const auto event = known(2, UINT32_MAX)) reference.event = known(3, UINT32_MAX).value_or(0) << 32 | *event;
      report_.references.insert_or_assign(row.required(0, INT64_MIN, kAny), reference);
    };
    for (const char* table : {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_CUDA_EVENT"}) {
      each(table, "correlationId streamId eventId contextId", 1, read);
    }
  }

  // Reads ranges that began and ended within the recording.
  void read_ranges() {
    constexpr std::int64_t kPushPop = 59, kStartEnd = 60;
    const auto read = [&](const Row& row) {
      const std::int64_t type = row.integer(2, INT64_MIN, kAny, kPushPop);
      if (!row.has(1) || (type != kPushPop && type != kStartEnd)) return;
      NsysReport::Range range;
      range.start = row.required(0, 0, kLatest);
      range.end = row.required(1, 0, kLatest);
      range.name = row.has(3) ? row.text(3) : report_.text(row.integer(4, INT64_MIN, kAny, -1));
      range.thread = row.integer(5, INT64_MIN, kAny, 0);
      range.nested = type == kPushPop;
      if (!is_utf8(range.name)) range.name = printable(range.name);
      if (range.end > range.start) report_.ranges.push_back(std::move(range));
    };
    each("NVTX_EVENTS", "start end eventType text textId", 1, read, "globalTid");
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
  if (!is_database(path)) {
    const std::string hint = foreign_hint(path);
    if (!hint.empty()) throw_input_error("{}: cannot be read as an SQLite database{}", path, hint);
  }
  return ReportReader(path, process).read();
}

}  // namespace uvmsim::trace
