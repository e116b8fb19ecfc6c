// SPDX-License-Identifier: Apache-2.0
// The records of a trace as plain structs, which the reader yields and the writer takes. Each is followed by its
// `fields()` (field_walk.h), the one description of how its fields are written and what they mean.
//
// A trace is one Header followed by records in program order (the order in which the host issued them). Accesses are
// relative to objects (driver allocations or framework segments) or tensors, never absolute, so that one recording
// replays under any allocator layout and page size. Units: bytes are bytes, times are nanoseconds, accesses count in
// quanta of Header::quantum_bytes (512 in every shipped trace).
// The same structs have two encodings: `.uvmt` (zstd frames of protobuf, uvmtrace.proto) and JSON lines.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "sim/trace/field_walk.h"
#include "sim/trace/phase_list.h"

namespace uvmsim::trace {

// The key and value of a member whose name is the key.
#define UVMSIM_FIELD(record, field) UVMSIM_KEY(field), record.field

inline constexpr std::uint32_t kSchemaMajor = 1;
inline constexpr std::uint32_t kSchemaMinor = 4;

// Identity of an object or a tensor. Objects and tensors share one number space; ids are never reused.
using ObjectId = std::uint64_t;
inline constexpr ObjectId kNoObject = 0;

enum class Device : std::int32_t { kHost = -1, kGpu0 = 0 };  // values >= 0 are GPU indices

using Attribute = std::pair<std::string, std::string>;
constexpr ItemForm item_form(const Attribute*) { return {"an attribute [key, value]", 2}; }
template <class Part>
void parts(Part& part, Of<Part, Attribute> attribute) {
  part.text("key of an attribute", attribute.first);
  part.text("value of an attribute", attribute.second);
}

struct Header {
  std::uint32_t major = kSchemaMajor;
  std::uint32_t minor = kSchemaMinor;
  std::uint32_t quantum_bytes = 512;
  std::string tool, gpu, driver;
  std::string program, provenance;
  std::vector<Attribute> attributes;  // in order
};
template <class Walk>
void fields(Walk& walk, Of<Walk, Header> header) {
  using enum Presence;
  walk.number(UVMSIM_FIELD(header, major), kRequired, "format version; a reader refuses majors other than its own");
  walk.number(UVMSIM_FIELD(header, minor), kWritten, "raised by new fields");
  walk.end_of_version(header);
  walk.number(UVMSIM_FIELD(header, quantum_bytes), kWritten, "accesses count in these: a power of two");
  walk.text(UVMSIM_FIELD(header, tool), kOptional, "what wrote the trace, with version");
  walk.text(UVMSIM_FIELD(header, gpu), kOptional, "name of the recorded GPU");
  walk.text(UVMSIM_FIELD(header, driver), kOptional, "version of its driver");
  walk.text(UVMSIM_FIELD(header, program), kOptional, "what was recorded");
  walk.text(UVMSIM_FIELD(header, provenance), kOptional, "where the recording came from, licence, command");
  walk.list("attributes", header.attributes, kOptional, "anything else");
}

// kHost is memory of the program that no GPU touches; kSystem (since minor version 4) is memory of malloc or mmap,
// which GPUs can use on some machines.
enum class ObjectKind : std::uint8_t { kManaged, kDevice, kPinned, kHost, kSystem };

// A new driver-level allocation.
struct ObjectAlloc {
  ObjectId id = kNoObject;
  ObjectKind kind = ObjectKind::kManaged;
  std::uint64_t bytes = 0;
  std::uint64_t va = 0;
  std::int32_t device = 0;
};
template <class Walk>
void fields(Walk& walk, Of<Walk, ObjectAlloc> object) {
  using enum Presence;
  walk.number(UVMSIM_FIELD(object, id), kRequired, "never used again; objects and tensors share the numbers");
  walk.name(UVMSIM_FIELD(object, kind), kOptional, "how it was allocated");
  walk.number(UVMSIM_FIELD(object, bytes), kRequired, "");
  walk.number(UVMSIM_FIELD(object, va), kOptional, "recorded virtual address; 0: unknown");
  walk.device(UVMSIM_FIELD(object, device), -1, kOptional, "where it was allocated; -1: host");
}

struct ObjectFree {
  ObjectId id = kNoObject;
};
template <class Walk>
void fields(Walk& walk, Of<Walk, ObjectFree> object) {
  walk.number(UVMSIM_FIELD(object, id), Presence::kRequired, "");
}

// A framework tensor inside an object (object may be kNoObject when the placement was not recorded).
struct TensorAlloc {
  ObjectId id = kNoObject;
  std::uint64_t bytes = 0;
  std::uint32_t stream = 0;
  ObjectId object = kNoObject;
  std::uint64_t offset = 0;
  std::string name;
};
template <class Walk>
void fields(Walk& walk, Of<Walk, TensorAlloc> tensor) {
  using enum Presence;
  walk.number(UVMSIM_FIELD(tensor, id), kRequired, "never used again; objects and tensors share the numbers");
  walk.number(UVMSIM_FIELD(tensor, bytes), kRequired, "as the program asked; the allocator may have rounded it up");
  walk.stream(tensor.stream);
  walk.number(UVMSIM_FIELD(tensor, object), kOptional, "the object that it lies in; 0: not recorded");
  walk.number(UVMSIM_FIELD(tensor, offset), kOptional, "bytes from the object's start");
  walk.text(UVMSIM_FIELD(tensor, name), kOptional, "");
}

struct TensorFree {
  ObjectId id = kNoObject;
};
template <class Walk>
void fields(Walk& walk, Of<Walk, TensorFree> tensor) {
  walk.number(UVMSIM_FIELD(tensor, id), Presence::kRequired, "");
}

constexpr ItemForm item_form(const Extent*) { return {"an extent [first, count, mode]", 3}; }
template <class Part>
void parts(Part& part, Of<Part, Extent> extent) {
  part.quantum("first of an extent", extent.first);
  part.quantum("count of an extent", extent.count);
  part.mode(extent.mode);
}

// The part of one object that a kernel touches: ascending, non-overlapping extents.
struct ObjectAccess {
  ObjectId object = kNoObject;
  ExtentList extents;
};
constexpr ItemForm item_form(const ObjectAccess*) { return {"an access [object, extents]", 2}; }
template <class Part>
void parts(Part& part, Of<Part, ObjectAccess> access) {
  part.number("object of an access", access.object);
  part.list("a list of extents", access.extents);
}

// The total size of the extents of accesses, of a kernel or of a phase.
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
constexpr ItemForm item_form(const Touch*) { return {"a touch [slot, quantum, mode]", 3}; }
template <class Part>
void parts(Part& part, Of<Part, Touch> touch) {
  part.number("slot of a touch", touch.slot);
  part.quantum("quantum of a touch", touch.quantum);
  part.mode(touch.mode);
}

constexpr ItemForm item_form(const PhaseAccess*) { return {"an access of a phase [slot, extents]", 2}; }
template <class Part>
void parts(Part& part, Of<Part, PhaseAccess> access) {
  part.number("slot of a phase", access.slot);
  part.list("a list of extents", access.extents);
}
constexpr ItemForm item_form(const Phase*) { return {"a phase [first_block, block_count, accesses]", 3}; }
template <class Part>
void parts(Part& part, Of<Part, Phase> phase) {
  part.number("first_block of a phase", phase.first_block);
  part.number("block_count of a phase", phase.block_count);
  part.list("accesses of a phase", phase.accesses);
}

// Order and counts as recorded by the tracer, never replayed: units of kUnitBytes from the start of accesses[slot].
inline constexpr std::uint64_t kUnitBytes = 65536;
struct FirstTouch {
  std::uint32_t slot = 0;
  std::uint64_t unit = 0;
};
constexpr ItemForm item_form(const FirstTouch*) { return {"a first touch [slot, unit]", 2}; }
template <class Part>
void parts(Part& part, Of<Part, FirstTouch> touch) {
  part.number("slot of a first touch", touch.slot);
  part.number("unit of an order", touch.unit);
}
struct UnitCount {
  std::uint32_t slot = 0;
  std::uint64_t unit = 0;
  std::uint32_t count = 0;  // number of accesses; UINT32_MAX means that many or more
};
constexpr ItemForm item_form(const UnitCount*) { return {"a count [slot, unit, count]", 3}; }
template <class Part>
void parts(Part& part, Of<Part, UnitCount> item) {
  part.number("slot of a count", item.slot);
  part.number("unit of a count", item.unit);
  part.number("a count of accesses", item.count);
}

// How the touched pages are distributed over the kernel's threads; those of a phase over the threads of its blocks.
enum class Distribution : std::uint8_t {
  kBlockLinear,  // block b of G touches the share [b/G, (b+1)/G) of every operand (library kernels; the default)
  kGridStride,   // grid-stride loop: consecutive threads touch consecutive bytes, the whole grid advances together
  // Thread t of T walks its own contiguous share [t/T, (t+1)/T) of the touch list or of every operand: page by page, or
  // in accesses of bytes_per_thread_access, so that it comes back to each page many times (a matrix row per thread).
  kThreadChunk,
  kTiled,  // matrix products and convolutions: panels, marched inputs, outputs at the end; phases, if any, state
           // which pages are touched repeatedly, if that matters
};

// The source of the accesses.
enum class Coverage : std::uint8_t {
  kInstrumented,    // every load and store was recorded
  kOperatorSchema,  // the schema of the framework's operator around the launch names its inputs and outputs
  kParameters,      // all memory that the launch's parameters point to
  kDeclared,        // declared by the trace's maker: synthetic programs, imports
  kNone,            // nothing is known
  kTensorMaps,      // the tensor maps among the launch's parameters; next best to kInstrumented. Since minor version 2
};

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const { return static_cast<std::uint64_t>(x) * y * z; }
};

template <class Walk>
void host_gap(Walk& walk, Of<Walk, std::int64_t> gap) {
  walk.time(UVMSIM_KEY(host_gap_ns), gap, Presence::kOptional, "host time since the API call before returned");
}

struct Kernel {
  std::string name;
  std::uint32_t stream = 0;
  std::int32_t device = 0;
  Dim3 grid, block;
  std::uint32_t registers_per_thread = 0;
  std::uint32_t shared_bytes_per_block = 0;
  std::int64_t host_gap_ns = 0;
  std::int64_t duration_ns = 0;
  Distribution distribution = Distribution::kBlockLinear;
  std::uint32_t bytes_per_thread_access = 0;
  Coverage coverage = Coverage::kInstrumented;
  std::vector<ObjectAccess> accesses;
  std::vector<Touch> touches;
  PhaseList phases;
  // The members below exist since minor version 1.
  std::uint64_t unknown_accesses = 0;
  std::vector<FirstTouch> order;  // each unit once, as far as the instrumentation kept it
  std::vector<UnitCount> counts;  // ascending by (slot, unit)
};
template <class Walk>
void fields(Walk& walk, Of<Walk, Kernel> kernel) {
  using enum Presence;
  walk.text(UVMSIM_FIELD(kernel, name), kRequired, "");
  walk.stream(kernel.stream);
  walk.device(UVMSIM_FIELD(kernel, device), 0, kOptional, "the GPU that it runs on");
  walk.dimensions(UVMSIM_FIELD(kernel, grid), "thread blocks");
  walk.dimensions(UVMSIM_FIELD(kernel, block), "threads of a block");
  walk.number(UVMSIM_FIELD(kernel, registers_per_thread), kOptional, "0: unknown");
  walk.number(UVMSIM_FIELD(kernel, shared_bytes_per_block), kOptional, "");
  host_gap(walk, kernel.host_gap_ns);
  walk.time(UVMSIM_FIELD(kernel, duration_ns), kRequired, "with everything resident, not instrumented");
  walk.name(UVMSIM_FIELD(kernel, distribution), kOptional, "which block touches what, where no phases say so");
  walk.number(
      UVMSIM_FIELD(kernel, bytes_per_thread_access), kOptional,
      "width of one access of one thread, for grid_stride, touches and thread_chunk; 0: 4, of thread_chunk a page");
  walk.name(UVMSIM_FIELD(kernel, coverage), kOptional, "where the accesses come from");
  walk.list("accesses", kernel.accesses, kRequired, "what it touches; a position in this list is a slot");
  walk.list("touches", kernel.touches, kOptional, "an explicit order; without it, by distribution");
  walk.list("phases", kernel.phases, kOptional, "which blocks touch what; without it, one pass");
  walk.number(UVMSIM_FIELD(kernel, unknown_accesses), kOptional, "met no known allocation; in no list");
  walk.list("order", kernel.order, kOptional, "units of 64 KiB by first touch, as recorded; never replayed");
  walk.list("counts", kernel.counts, kOptional, "accesses of units of 64 KiB, ascending; never replayed");
}

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
  bool blocking = true;
  std::int64_t host_gap_ns = 0;
};
template <class Walk>
void fields(Walk& walk, Of<Walk, Memcpy> copy) {
  using enum Presence;
  walk.place(UVMSIM_KEY_OF(dst, dst_object), UVMSIM_KEY(dst_offset), copy.dst,
             "[object, offset]; without it, unmanaged memory");
  walk.place(UVMSIM_KEY_OF(src, src_object), UVMSIM_KEY(src_offset), copy.src,
             "[object, offset]; without it, unmanaged memory");
  walk.number(UVMSIM_FIELD(copy, bytes), kRequired, "");
  walk.name(UVMSIM_FIELD(copy, kind), kWritten, "");
  walk.stream(copy.stream);
  walk.flag(UVMSIM_KEY_OF(blocking, non_blocking), copy.blocking, true, "the host waits for it");
  host_gap(walk, copy.host_gap_ns);
}

// The fields of records that refer to a part of an object.
template <class Walk, class Operation>
void fields_of_piece(Walk& walk, Operation& operation) {
  walk.number(UVMSIM_FIELD(operation, object), Presence::kRequired, "");
  walk.number(UVMSIM_FIELD(operation, offset), Presence::kOptional, "bytes from the object's start");
  walk.number(UVMSIM_FIELD(operation, bytes), Presence::kRequired, "");
}

struct Memset {
  ObjectId object = kNoObject;
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t stream = 0;
  std::int64_t host_gap_ns = 0;
  bool blocking = false;  // cudaMemset, not cudaMemsetAsync
};
template <class Walk>
void fields(Walk& walk, Of<Walk, Memset> set) {
  fields_of_piece(walk, set);
  walk.stream(set.stream);
  walk.flag(UVMSIM_KEY(blocking), set.blocking, false, "the host waits for it where the memory is managed");
  host_gap(walk, set.host_gap_ns);
}

// cudaMemPrefetchAsync
struct Prefetch {
  ObjectId object = kNoObject;
  std::uint64_t offset = 0, bytes = 0;
  std::int32_t destination = 0;
  std::uint32_t stream = 0;
  std::int64_t host_gap_ns = 0;
};
template <class Walk>
void fields(Walk& walk, Of<Walk, Prefetch> prefetch) {
  fields_of_piece(walk, prefetch);
  walk.device(UVMSIM_FIELD(prefetch, destination), -1, Presence::kWritten, "-1: host, else a GPU");
  walk.stream(prefetch.stream);
  host_gap(walk, prefetch.host_gap_ns);
}

enum class Advice : std::uint8_t {
  kSetPreferredLocation,
  kUnsetPreferredLocation,
  kSetAccessedBy,
  kUnsetAccessedBy,
  kSetReadMostly,
  kUnsetReadMostly,
  kSetPinned,  // pages on a GPU are not evicted; not a call of CUDA's (GMEM's MADV_PINNED)
  kUnsetPinned,
};
struct Advise {
  ObjectId object = kNoObject;
  std::uint64_t offset = 0, bytes = 0;
  Advice advice = Advice::kSetPreferredLocation;
  std::int32_t device = 0;
};
template <class Walk>
void fields(Walk& walk, Of<Walk, Advise> advise) {
  fields_of_piece(walk, advise);
  walk.name(UVMSIM_FIELD(advise, advice), Presence::kRequired, "");
  walk.device(UVMSIM_FIELD(advise, device), -1, Presence::kOptional, "-1: host, else a GPU");
}

struct Discard {
  ObjectId object = kNoObject;
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t stream = 0;
};
template <class Walk>
void fields(Walk& walk, Of<Walk, Discard> discard) {
  fields_of_piece(walk, discard);
  walk.stream(discard.stream);
}

enum class SyncKind : std::uint8_t { kDevice, kStream, kEventRecord, kEventWait, kEventSynchronize };
struct Sync {
  SyncKind kind = SyncKind::kDevice;
  std::uint32_t stream = 0;
  std::uint64_t event = 0;
  std::int64_t host_gap_ns = 0;
};
template <class Walk>
void fields(Walk& walk, Of<Walk, Sync> sync) {
  using enum Presence;
  walk.name(UVMSIM_FIELD(sync, kind), kRequired, "what waits for what");
  walk.stream(sync.stream);
  walk.number(UVMSIM_FIELD(sync, event), kOptional, "of the event kinds");
  host_gap(walk, sync.host_gap_ns);
}

// An access of the CPU to managed memory.
using HostTouch = std::pair<std::uint64_t, AccessMode>;  // quantum, mode
constexpr ItemForm item_form(const HostTouch*) { return {"a touch [quantum, mode]", 2}; }
template <class Part>
void parts(Part& part, Of<Part, HostTouch> touch) {
  part.quantum("quantum of a touch", touch.first);
  part.mode(touch.second);
}
struct HostAccess {
  ObjectId object = kNoObject;
  ExtentList extents;
  std::vector<HostTouch> touches;
  std::int64_t host_gap_ns = 0;
};
template <class Walk>
void fields(Walk& walk, Of<Walk, HostAccess> access) {
  using enum Presence;
  walk.number(UVMSIM_FIELD(access, object), kRequired, "");
  walk.list("extents", access.extents, kOptional, "touched in ascending order, a 4 KiB page at a time");
  walk.list("touches", access.touches, kOptional, "an explicit order instead");
  host_gap(walk, access.host_gap_ns);
}

enum class RangeKind : std::uint8_t { kPush, kPop, kIterationBegin, kIterationEnd };
struct Range {
  RangeKind kind = RangeKind::kPush;
  std::string name;
  std::uint64_t index = 0;
};
template <class Walk>
void fields(Walk& walk, Of<Walk, Range> range) {
  using enum Presence;
  walk.name(UVMSIM_FIELD(range, kind), kRequired, "");
  walk.text(UVMSIM_FIELD(range, name), kOptional, "");
  walk.number(UVMSIM_FIELD(range, index), kOptional, "number of the iteration");
}

// A UVM event as observed on the recording machine; never replayed, used by checks.
struct UvmCounter {
  std::string kind;
  ObjectId object = kNoObject;
  std::uint64_t offset = 0, value = 0;
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t flags = 0;
};
template <class Walk>
void fields(Walk& walk, Of<Walk, UvmCounter> counter) {
  using enum Presence;
  walk.text(UVMSIM_FIELD(counter, kind), kRequired, "an event of the recording machine's driver; never replayed");
  walk.number(UVMSIM_FIELD(counter, object), kOptional, "");
  walk.number(UVMSIM_FIELD(counter, offset), kOptional, "");
  walk.number(UVMSIM_FIELD(counter, value), kOptional, "");
  walk.signed_time(UVMSIM_FIELD(counter, start_ns), "");
  walk.signed_time(UVMSIM_FIELD(counter, end_ns), "");
  walk.number(UVMSIM_FIELD(counter, flags), kOptional, "");
}

using Record = std::variant<ObjectAlloc, ObjectFree, TensorAlloc, TensorFree, Kernel, Memcpy, Memset, Prefetch, Advise,
                            Discard, Sync, HostAccess, Range, UvmCounter>;

// The fields of an Entry for each record type, in the order of the alternatives of Record.
constexpr auto message_keys() {
  return std::tuple(UVMSIM_KEY(object_alloc), UVMSIM_KEY(object_free), UVMSIM_KEY(tensor_alloc),
                    UVMSIM_KEY(tensor_free), UVMSIM_KEY(kernel), UVMSIM_KEY_OF(memcpy, memory_copy),
                    UVMSIM_KEY_OF(memset, memory_set), UVMSIM_KEY(prefetch), UVMSIM_KEY(advise), UVMSIM_KEY(discard),
                    UVMSIM_KEY(sync), UVMSIM_KEY(host_access), UVMSIM_KEY(range), UVMSIM_KEY(uvm_counter));
}

template <class Item>
inline constexpr ItemForm kItemForm = item_form(static_cast<const Item*>(nullptr));

#undef UVMSIM_FIELD
#undef UVMSIM_KEY
#undef UVMSIM_KEY_OF

}  // namespace uvmsim::trace
