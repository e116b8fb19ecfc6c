// SPDX-License-Identifier: Apache-2.0
// The records of a trace, as plain structs: what the reader yields and the writer takes.
//
// A trace is one Header followed by records in program order (the order in which the host issued them). Accesses are
// relative to objects (driver allocations or framework segments) or tensors, never absolute, so that one recording
// replays under any allocator layout and page size. Units: bytes are bytes, times are nanoseconds, accesses count in
// quanta of Header::quantum_bytes (512 in every shipped trace).
// The same structs have two encodings: `.uvmt` (zstd frames of protobuf, uvmtrace.proto) and JSON lines.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/trace/phase_list.h"

namespace uvmsim::trace {

inline constexpr std::uint32_t kSchemaMajor = 1;
inline constexpr std::uint32_t kSchemaMinor = 2;

// Identity of an object or a tensor. Objects and tensors share one number space; ids are never reused.
using ObjectId = std::uint64_t;
inline constexpr ObjectId kNoObject = 0;

enum class Device : std::int32_t { kHost = -1, kGpu0 = 0 };  // values >= 0 are GPU indices

struct Header {
  std::uint32_t major = kSchemaMajor;
  std::uint32_t minor = kSchemaMinor;
  std::uint32_t quantum_bytes = 512;
  std::string tool;  // what wrote the trace, with version
  std::string gpu;   // name of the recorded GPU, empty for synthetic traces
  std::string driver;
  std::string program;                                          // what was recorded
  std::string provenance;                                       // where the recording came from, licence, command
  std::vector<std::pair<std::string, std::string>> attributes;  // anything else, in order
};

enum class ObjectKind : std::uint8_t { kManaged, kDevice, kPinned, kHost };

// A driver-level allocation becomes live. `va` is the recorded virtual address (0 = unknown).
struct ObjectAlloc {
  ObjectId id = kNoObject;
  ObjectKind kind = ObjectKind::kManaged;
  std::uint64_t bytes = 0;
  std::uint64_t va = 0;
  std::int32_t device = 0;
};
struct ObjectFree {
  ObjectId id = kNoObject;
};

// A framework tensor inside an object (object may be kNoObject when the placement was not recorded). `bytes` is what
// the program asked for; the framework's allocator may have rounded it up.
struct TensorAlloc {
  ObjectId id = kNoObject;
  std::uint64_t bytes = 0;
  std::uint32_t stream = 0;
  ObjectId object = kNoObject;
  std::uint64_t offset = 0;
  std::string name;
};
struct TensorFree {
  ObjectId id = kNoObject;
};

// What a kernel touches of one object: ascending, non-overlapping extents.
struct ObjectAccess {
  ObjectId object = kNoObject;
  ExtentList extents;
};

// What the extents of accesses, of a kernel or of a phase, add up to.
template <class Accesses>
std::uint64_t touched_quanta(const Accesses& accesses) {
  std::uint64_t quanta = 0;
  for (const auto& access : accesses) {
    for (const Extent& extent : access.extents) quanta += extent.count;
  }
  return quanta;
}

// One touch of an explicit order: accesses[slot], quantum within that object.
struct Touch {
  std::uint32_t slot = 0;
  std::uint64_t quantum = 0;
  AccessMode mode = AccessMode::kRead;
};

// Order and counts as the tracer took them, never replayed: units of kUnitBytes from the start of accesses[slot].
inline constexpr std::uint64_t kUnitBytes = 65536;
struct FirstTouch {
  std::uint32_t slot = 0;
  std::uint64_t unit = 0;
};
struct UnitCount {
  std::uint32_t slot = 0;
  std::uint64_t unit = 0;
  std::uint32_t count = 0;  // of accesses; UINT32_MAX means that many or more
};

// How the touched set is spread over the kernel's threads when no phases say so.
enum class Distribution : std::uint8_t {
  kBlockLinear,  // block b of G touches the share [b/G, (b+1)/G) of every operand (library kernels; the default)
  kGridStride,   // grid-stride loop: consecutive threads touch consecutive bytes, the whole grid advances together
  kThreadChunk,  // thread t of T walks its own contiguous share [t/T, (t+1)/T) of the touch list or of every operand
  kTiled,        // matrix products and convolutions: panels, marched inputs, outputs at the end; phases, if there are
                 // any, say what is touched again where that matters
};

// Where the accesses come from.
enum class Coverage : std::uint8_t {
  kInstrumented,    // every load and store was seen
  kOperatorSchema,  // the framework's operator around the launch says what it takes and makes
  kParameters,      // all memory that the launch's parameters point to
  kDeclared,        // the trace's maker says so: synthetic programs, imports
  kNone,            // nothing is known
  kTensorMaps,      // the tensor maps among the launch's parameters; next best to kInstrumented. Since minor version 2
};

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const { return static_cast<std::uint64_t>(x) * y * z; }
};

struct Kernel {
  std::string name;
  std::uint32_t stream = 0;
  std::int32_t device = 0;
  Dim3 grid, block;
  std::uint32_t registers_per_thread = 0;  // 0 = unknown
  std::uint32_t shared_bytes_per_block = 0;
  std::int64_t host_gap_ns = 0;  // host time between the previous API call's return and this launch
  std::int64_t duration_ns = 0;  // with everything resident, uninstrumented
  Distribution distribution = Distribution::kBlockLinear;
  std::uint32_t bytes_per_thread_access = 0;  // width of one access of one thread, for kGridStride and touches; 0 = 4
  Coverage coverage = Coverage::kInstrumented;
  std::vector<ObjectAccess> accesses;
  std::vector<Touch> touches;  // explicit order; empty = by distribution
  PhaseList phases;            // empty = one pass
  // Since minor version 1.
  std::uint64_t unknown_accesses = 0;  // met no known allocation; in no list above
  std::vector<FirstTouch> order;       // each unit once, by first touch, as far as the instrumentation kept it
  std::vector<UnitCount> counts;       // ascending by (slot, unit)
};

enum class CopyKind : std::uint8_t { kHostToDevice, kDeviceToHost, kDeviceToDevice, kHostToHost, kDefault };

// One side of a copy: offset into an object, or unmanaged memory on a device (object == kNoObject).
struct CopyEnd {
  ObjectId object = kNoObject;
  std::uint64_t offset = 0;
};

struct Memcpy {
  CopyEnd dst, src;
  std::uint64_t bytes = 0;
  CopyKind kind = CopyKind::kDefault;
  std::uint32_t stream = 0;
  bool blocking = true;  // the host waits for it
  std::int64_t host_gap_ns = 0;
};
struct Memset {
  ObjectId object = kNoObject;
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t stream = 0;
  std::int64_t host_gap_ns = 0;
};
// cudaMemPrefetchAsync
struct Prefetch {
  ObjectId object = kNoObject;
  std::uint64_t offset = 0, bytes = 0;
  std::int32_t destination = 0;  // -1 = host, else GPU index
  std::uint32_t stream = 0;
  std::int64_t host_gap_ns = 0;
};
enum class Advice : std::uint8_t {
  kSetPreferredLocation,
  kUnsetPreferredLocation,
  kSetAccessedBy,
  kUnsetAccessedBy,
  kSetReadMostly,
  kUnsetReadMostly,
  kSetPinned,  // what lies on a GPU is not evicted; no call of CUDA's (GMEM's MADV_PINNED)
  kUnsetPinned,
};
struct Advise {
  ObjectId object = kNoObject;
  std::uint64_t offset = 0, bytes = 0;
  Advice advice = Advice::kSetPreferredLocation;
  std::int32_t device = 0;  // -1 = host
};
struct Discard {
  ObjectId object = kNoObject;
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t stream = 0;
};
enum class SyncKind : std::uint8_t { kDevice, kStream, kEventRecord, kEventWait, kEventSynchronize };
struct Sync {
  SyncKind kind = SyncKind::kDevice;
  std::uint32_t stream = 0;
  std::uint64_t event = 0;
  std::int64_t host_gap_ns = 0;
};
// The CPU touches managed memory, ascending, one 4 KB page at a time (or `touches` in order when given).
struct HostAccess {
  ObjectId object = kNoObject;
  ExtentList extents;
  std::vector<std::pair<std::uint64_t, AccessMode>> touches;  // quantum, mode
  std::int64_t host_gap_ns = 0;
};
enum class RangeKind : std::uint8_t { kPush, kPop, kIterationBegin, kIterationEnd };
struct Range {
  RangeKind kind = RangeKind::kPush;
  std::string name;
  std::uint64_t index = 0;  // iteration number for kIterationBegin/End
};
// A UVM event as the recording machine saw it; never replayed, used by checks.
struct UvmCounter {
  std::string kind;
  ObjectId object = kNoObject;
  std::uint64_t offset = 0, value = 0;
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t flags = 0;
};

using Record = std::variant<ObjectAlloc, ObjectFree, TensorAlloc, TensorFree, Kernel, Memcpy, Memset, Prefetch, Advise,
                            Discard, Sync, HostAccess, Range, UvmCounter>;

}  // namespace uvmsim::trace
