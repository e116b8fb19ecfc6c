// What the model tells whoever draws the timeline or compares with a real driver's event stream. Times are simulated.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/common/units.h"

namespace uvmsim {

enum class TransferCause : std::uint8_t { kUser = 1, kFault = 2, kPrefetch = 3, kEvict = 4, kAccessCounter = 5 };
enum class TransferDirection : std::uint8_t { kHostToDevice, kDeviceToHost, kDeviceToDevice };

struct KernelEvent {
  std::string_view name;
  std::uint32_t stream;
  std::int32_t device;
  Nanoseconds start, end;
};
struct FaultBatchEvent {
  std::int32_t device;
  Nanoseconds start, end;        // first fault's arrival; replay issued
  Nanoseconds service_start;     // the driver fetched the batch
  std::uint64_t lowest_address;  // of the faulting pages serviced or found stale
  std::uint32_t raw_faults, faulting_pages, blocks;
  bool write;  // access of the lowest page
};
struct TransferEvent {
  std::int32_t device;
  TransferDirection direction;
  TransferCause cause;
  Nanoseconds start, end;
  std::uint64_t address;  // of the first page, virtual
  std::uint64_t bytes;
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

class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on(const KernelEvent&) {}
  virtual void on(const FaultBatchEvent&) {}
  virtual void on(const TransferEvent&) {}
  virtual void on(const EvictionEvent&) {}
  virtual void on(const CpuFaultEvent&) {}
  virtual void on(const RemoteMapEvent&) {}
  virtual void on(const ThrashingEvent&) {}
  virtual void on(const ResidencyEvent&) {}
  virtual void on(const RangeEvent&) {}
};

}  // namespace uvmsim
