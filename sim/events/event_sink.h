// SPDX-License-Identifier: Apache-2.0
// The events that the model reports to a timeline, a profile, or a comparison with a real driver's event stream. Times
// are simulated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sim/common/units.h"

namespace uvmsim {

enum class TransferCause : std::uint8_t { kUser = 1, kFault = 2, kPrefetch = 3, kEvict = 4, kAccessCounter = 5 };
// Tables by cause are in the order of the enum.
inline constexpr std::size_t kTransferCauses = 5;
constexpr std::size_t index_of(TransferCause cause) { return static_cast<std::size_t>(cause) - 1; }
enum class TransferDirection : std::uint8_t { kHostToDevice, kDeviceToHost, kDeviceToDevice };

struct KernelEvent {
  std::string_view name;
  std::uint32_t stream;
  std::int32_t device;
  Nanoseconds start, end;
  Nanoseconds compute;  // its duration with everything resident
};
// Raw faults of one page that a fault batch holds: one, or several that the driver merged as it fetched them.
struct FetchedFault {
  std::uint64_t address;  // of the page
};
struct FaultBatchEvent {
  std::int32_t device;
  Nanoseconds start, end;        // first fault's arrival; replay issued
  Nanoseconds service_start;     // the driver fetched the batch
  std::uint64_t lowest_address;  // lowest of the faulting pages serviced or found stale
  std::uint32_t raw_faults, faulting_pages, blocks;
  bool write;                                 // access of the lowest page
  std::uint32_t pages = 0, sms = 0;           // distinct pages and SMs of the faults, stale pages included
  Nanoseconds last_arrival{};                 // of its raw faults; the first one's is `start`
  std::span<const FetchedFault> faults = {};  // in the order of arrival
};
struct TransferEvent {
  std::int32_t device;
  TransferDirection direction;
  TransferCause cause;
  Nanoseconds start, end;
  std::uint64_t address;  // of the first page, virtual
  std::uint64_t bytes;
  std::int32_t source = -1;  // GPU that it came from; -1: the host
};
struct StorageEvent {  // host memory and SSD
  bool write;
  Nanoseconds start, end;
  std::uint64_t address, bytes;
};
struct EvictionEvent {
  std::int32_t device;
  Nanoseconds at;
  std::uint64_t address;  // of the block
  std::uint64_t copied_bytes;
};
struct CpuFaultEvent {
  Nanoseconds start, end;
  std::uint64_t address;
  bool write;
};
struct RemoteMapEvent {
  std::int32_t device;
  Nanoseconds at;
  std::uint64_t address, bytes;
};
struct ThrashingEvent {
  Nanoseconds at;
  std::uint64_t address;
};
struct ResidencyEvent {  // after it changed
  std::int32_t device;
  Nanoseconds at;
  std::uint64_t resident_bytes, chunk_bytes;
};
struct RangeEvent {
  std::string_view name;
  Nanoseconds start, end;
};
// The turn of a process on a GPU that several share in time slices, whether the process computed or not. Between
// `change` and `start` the GPU switched to it and computed for no process.
struct TurnEvent {
  std::int32_t device;
  Nanoseconds change;  // begin of the switch; `start` if the GPU was idle
  Nanoseconds start, end;
};

// The following events are for accounts of every page: for sinks with wants_accounts().

// Contiguous simulated addresses.
struct AddressRun {
  std::uint64_t address, bytes;
};
// The program allocated managed memory, or its framework a tensor in it. The time is the host's, which is ahead of the
// GPU: memory that the framework reuses may still be in use by work launched before.
struct AllocationEvent {
  std::uint64_t id;  // in the trace
  std::string_view name;
  std::uint64_t bytes;
  bool tensor;
  bool owns;                         // false: it is part of another allocation
  std::span<const AddressRun> runs;  // its memory, in order; empty: a segment whose memory is not used
  std::uint64_t record;              // number in program order, from 1
  Nanoseconds at;
};
struct FreeEvent {
  std::uint64_t id;
  std::uint64_t record;
  Nanoseconds at;
};
// The host passes the begin or the end of a range or iteration: records with numbers between the two belong to it.
// (RangeEvent has the time when the GPU reached it.)
enum class RangeEdge : std::uint8_t { kPush, kPop, kIterationBegin, kIterationEnd };
struct HostRangeEvent {
  RangeEdge edge;
  std::string_view name;
  std::uint64_t index;  // of the iteration
  std::uint64_t record;
};
// The GPU passes the mark of an iteration: an iteration's counters are the differences between its marks.
struct IterationEvent {
  std::uint64_t index;
  bool begin;
  Nanoseconds at;
};
// A stream begins work that touches managed memory. Ends with WorkEndEvent; one at a time per stream.
enum class WorkKind : std::uint8_t { kKernel, kCopy, kPrefetch, kDiscard };  // kCopy: memcpy and memset
struct WorkTouch {
  std::uint64_t id;  // object or tensor
  std::uint64_t address, bytes;
  bool read, write;
};
struct WorkStartEvent {
  WorkKind kind;
  std::string_view name;
  std::uint32_t stream;
  std::int32_t device;  // -1: the host
  std::uint64_t record;
  Nanoseconds start;
  std::span<const WorkTouch> touches;  // for kernels and copies: their touches, operand by operand
  bool misfit = false;                 // a kernel that does not fit the access pattern of its name
};
struct WorkEndEvent {
  std::uint32_t stream;
  Nanoseconds end;
  Nanoseconds compute;  // with everything resident
};
// The cause of the following transfers, evictions and changes of residency.
enum class Actor : std::uint8_t { kHost, kFaultService, kStream };
struct ActorEvent {
  Actor actor;
  std::int32_t device;   // for kFaultService
  std::uint32_t stream;  // for kStream
};
// A run of pages that the fault service is about to serve; precedes its effects and the batch's FaultBatchEvent. Over a
// run these pages add up to the counter faulting_pages.
struct FaultedPagesEvent {
  std::int32_t device;
  Nanoseconds at;
  std::uint64_t address, bytes;
  bool write;
};
// The reason why pages came to a GPU or left it.
enum class ResidencyChange : std::uint8_t {
  kPopulated,  // with zeros, resident nowhere before
  kLoaded,     // copied
  kReloaded,   // copied back after an eviction
  kEvicted,
  kMoved,    // to another processor
  kDropped,  // freed or discarded
};
struct ResidentPagesEvent {
  std::int32_t device;
  ResidencyChange change;
  std::uint64_t address, bytes;
  Nanoseconds at;
};

class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual bool wants_accounts() const { return false; }
  virtual void on(const KernelEvent&) {}
  virtual void on(const FaultBatchEvent&) {}
  virtual void on(const TransferEvent&) {}
  virtual void on(const StorageEvent&) {}
  virtual void on(const EvictionEvent&) {}
  virtual void on(const CpuFaultEvent&) {}
  virtual void on(const RemoteMapEvent&) {}
  virtual void on(const ThrashingEvent&) {}
  virtual void on(const ResidencyEvent&) {}
  virtual void on(const RangeEvent&) {}
  virtual void on(const TurnEvent&) {}
  virtual void on(const AllocationEvent&) {}
  virtual void on(const FreeEvent&) {}
  virtual void on(const HostRangeEvent&) {}
  virtual void on(const IterationEvent&) {}
  virtual void on(const WorkStartEvent&) {}
  virtual void on(const WorkEndEvent&) {}
  virtual void on(const ActorEvent&) {}
  virtual void on(const FaultedPagesEvent&) {}
  virtual void on(const ResidentPagesEvent&) {}
};

}  // namespace uvmsim
