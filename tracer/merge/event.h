// SPDX-License-Identifier: Apache-2.0
// The events of a pass's log as plain structs: log_reader.h reads them from the lines that ../log/README.md describes.
//
// Addresses are absolute and belong to one pass; quanta are address / 512, pages address / 65536. Every number has been
// checked against limits.h of sim/trace, so that sums of an address and a size do not overflow.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/trace/record.h"
#include "tracer/maps/copy_code.h"
#include "tracer/maps/tensor_map.h"

namespace uvmtrace {

namespace trace = uvmsim::trace;

inline constexpr std::uint64_t kQuantumBytes = 512;
inline constexpr std::uint64_t kPageBytes = 65536;

enum class Pass : std::uint8_t { kTiming, kAccess, kMemory };
inline constexpr std::array<std::string_view, 3> kPassNames = {"timing", "access", "memory"};
inline std::string_view name_of(Pass pass) { return kPassNames[static_cast<std::size_t>(pass)]; }
enum class MemoryKind : std::uint8_t { kDevice, kManaged, kPinned, kPool, kVmm, kModule };

// A range of memory, and whether it is read or written.
struct AddressRange {
  std::uint64_t va = 0, bytes = 0;
  trace::AccessMode mode = trace::AccessMode::kReadWrite;
};

struct PhaseRuns {
  std::uint64_t first_block = 0, block_count = 0;
  std::vector<trace::Extent> pages;  // absolute, ascending
};

// A tensor map among the parameters of a launch.
struct MapParameter {
  std::uint32_t offset = 0;
  TensorMap map;
};

// Equal tensor copies in a kernel's code.
struct CopyCode {
  TensorCopy copy;
  std::uint64_t count = 1;
};

struct Launch {
  std::uint64_t corr = 0, node = 0;
  std::uint32_t name = 0;  // index into PassLog::names
  trace::Dim3 grid, block;
  std::uint32_t stream = 0;
  std::int32_t device = 0;
  std::vector<std::uint64_t> params;  // addresses; timing pass
  std::vector<MapParameter> maps;     // timing pass
  // The following are from the access pass.
  bool patched = false;                 // the kernel ran with instrumentation
  std::vector<trace::Extent> accesses;  // absolute quanta, ascending
  std::vector<PhaseRuns> phases;
  std::vector<std::uint64_t> order;                             // absolute pages
  std::vector<std::pair<std::uint64_t, std::uint32_t>> counts;  // absolute page, accesses
  std::uint64_t unknown = 0;
};

struct AllocEvent {
  MemoryKind kind = MemoryKind::kDevice;
  std::uint64_t va = 0, bytes = 0;
  std::int32_t device = 0;
  bool segment = false;      // a segment that the caching allocator reports
  std::uint32_t stream = 0;  // of memory of a pool
};
struct FreeEvent {
  std::uint64_t va = 0;
  bool segment = false;
};
struct TensorAllocEvent {
  std::uint64_t va = 0, bytes = 0;
  std::uint32_t stream = 0;
};
struct TensorFreeEvent {
  std::uint64_t va = 0;
  bool done = false;  // the allocator may reuse the memory
};
struct LaunchEvent {
  std::size_t launch = 0;  // index into PassLog::launches
};
struct CopyEvent {
  std::uint64_t dst = 0, src = 0;
  std::uint64_t rows = 1, row_bytes = 0;  // one row: the whole range
  std::uint64_t dst_pitch = 0, src_pitch = 0;
  trace::CopyKind kind = trace::CopyKind::kDefault;
  bool async = false;
  std::uint32_t stream = 0;
};
struct SetEvent {
  std::uint64_t va = 0;
  std::uint64_t rows = 1, row_bytes = 0, pitch = 0;
  std::uint32_t stream = 0;
  bool async = true;
};
struct PrefetchEvent {
  std::uint64_t va = 0, bytes = 0;
  std::int32_t to = 0;
  std::uint32_t stream = 0;
};
struct AdviseEvent {
  std::uint64_t va = 0, bytes = 0;
  trace::Advice advice = trace::Advice::kSetPreferredLocation;
  std::int32_t to = 0;
};
struct DiscardEvent {
  std::uint64_t va = 0, bytes = 0;
  std::uint32_t stream = 0;
  bool prefetch = false;
  std::int32_t to = 0;
};
struct SyncEvent {
  trace::SyncKind kind = trace::SyncKind::kDevice;
  std::uint32_t stream = 0;
  std::uint64_t event = 0;
};
struct RangeEvent {
  trace::RangeKind kind = trace::RangeKind::kPush;
  std::uint32_t name = 0;
  std::uint64_t index = 0;
};
struct OperatorEvent {
  enum class Kind : std::uint8_t { kBegin, kOutputs, kEnd } kind = Kind::kBegin;
  std::vector<AddressRange> tensors;
};
struct WindowEvent {
  bool open = true;
};

struct Event {
  std::uint64_t seq = 0;
  std::uint32_t tid = 0;
  std::int64_t begin_ns = 0, end_ns = 0;  // 0 in the access pass
  std::uint64_t line = 0;                 // of the log
  std::variant<AllocEvent, FreeEvent, TensorAllocEvent, TensorFreeEvent, LaunchEvent, CopyEvent, SetEvent,
               PrefetchEvent, AdviseEvent, DiscardEvent, SyncEvent, RangeEvent, OperatorEvent, WindowEvent>
      what;
};

inline bool is_gpu_work(const Event& event) {
  return std::holds_alternative<LaunchEvent>(event.what) || std::holds_alternative<CopyEvent>(event.what) ||
         std::holds_alternative<SetEvent>(event.what);
}

// The GPU's side of a launch.
struct KernelTime {
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t registers = 0, shared_bytes = 0;
};

struct UvmEvent {
  std::string counter;
  std::uint64_t va = 0, value = 0;
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t flags = 0;
};

// GPU memory that a driver call took, or returned.
struct MemoryTaken {
  std::uint64_t seq = 0;
  std::int64_t bytes = 0;
  std::int32_t device = 0;
  std::uint32_t call = 0;   // index into PassLog::names; 0: no call was running
  bool allocation = false;  // the program allocated or freed it, which has its own events
};

struct LogHeader {
  Pass pass = Pass::kTiming;
  std::string tool, gpu, driver, cuda;
  std::string rank;      // of the process among those started together
  std::string settings;  // environment variables that the recording set
  std::uint64_t started_ns = 0;
  std::vector<std::string> program;
  std::uint64_t pid = 0;
  std::uint32_t sm_count = 0;
  std::array<std::uint32_t, 2> compute_capability{};
  std::uint64_t phases = 0;
};

struct PassLog {
  std::string path;
  LogHeader header;
  std::vector<std::string> names{std::string()};  // of kernels and ranges; 0 is the empty one
  std::vector<Launch> launches;
  std::vector<Event> events;                                                   // ascending by seq
  std::map<std::pair<std::uint64_t, std::uint64_t>, KernelTime> kernel_times;  // by corr and node
  bool free_memory_read = false;                          // free memory was read at least once; memory pass
  std::vector<MemoryTaken> memory_taken;                  // as logged; memory pass
  std::vector<UvmEvent> uvm;                              // ascending by start
  std::map<std::uint32_t, std::vector<CopyCode>> copies;  // by name, for kernels whose code was read
  bool maps_decoded = false;                              // the driver's tensor maps were understood
  std::string maps_refused;                               // the reason why not
  std::uint64_t maps_verified = 0;
  std::vector<std::string> notes;
  std::map<std::string, std::uint64_t> lines_by_type;
  std::map<std::string, std::uint64_t> unknown_types;  // types of events that were skipped, with their numbers
  std::uint64_t lines = 0;
  std::uint64_t dropped = 0;       // records that the profiler lost
  bool complete = false;           // the log has its last line
  bool cut_line = false;           // the last line was incomplete and is left out
  std::uint64_t unseen_waits = 0;  // waits that were added (unseen_waits.h)
};

}  // namespace uvmtrace
