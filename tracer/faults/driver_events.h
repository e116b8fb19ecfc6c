// SPDX-License-Identifier: Apache-2.0
// The events of the UVM driver's queue that concern faults, and their bytes there. The offsets are those of version 2
// of the structures in the open driver's uvm_types.h (580).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace uvmtrace::faults {

// Event types: the first byte of an entry, and the bit that enables them.
inline constexpr std::uint8_t kMigrationEvent = 2, kFaultEvent = 3, kReplayEvent = 4;
inline constexpr std::size_t kEntryBytes = 72;

// The kind of the client that faulted. Faults of the hub (copy engines) are not replayable.
inline constexpr std::uint8_t kClientGpc = 1, kClientHub = 2;
inline constexpr std::uint8_t kAccessRead = 1, kAccessWrite = 2, kAccessAtomic = 3;

// One entry of the GPU's fault buffer that the driver fetched.
struct RawFault {
  std::uint64_t gpu_ns = 0;           // when the GPU wrote it, in steps of the GPU's clock (32 ns on Hopper)
  std::uint64_t cpu_ns = 0;           // when the driver began to service its group
  std::uint64_t address = 0;          // of the 4 KB page
  std::uint32_t batch = 0;            // numbered consecutively per GPU
  std::uint16_t gpu = 0;              // the driver's number, from 1 on (0 is the host)
  std::uint16_t gpc = 0, client = 0;  // since Volta one client per SM, numbered within its GPC
  std::uint8_t access = 0, fault_type = 0, client_type = 0;
};

// The driver let the faulting accesses be retried.
struct Replay {
  std::uint64_t gpu_ns = 0, cpu_ns = 0;
  std::uint32_t batch = 0;
  std::uint16_t gpu = 0;
};

// A contiguous part of a copy with one cause.
struct Migration {
  std::uint64_t cpu_begin_ns = 0, cpu_end_ns = 0, gpu_begin_ns = 0, gpu_end_ns = 0;
  std::uint64_t address = 0, bytes = 0;
  std::uint16_t source = 0, destination = 0;  // 0: the host
  std::uint8_t cause = 0;                     // 1 user, 2 fault, 3 prefetch, 4 eviction, 5 access counters
};

struct DriverEvents {
  std::vector<RawFault> faults;
  std::vector<Replay> replays;
  std::vector<Migration> migrations;
  std::uint64_t unknown = 0;  // entries of other types

  std::size_t size() const { return faults.size() + replays.size() + migrations.size(); }
  void clear();
};

// Adds the event in the kEntryBytes at `entry`.
void add_entry(const std::uint8_t* entry, DriverEvents& events);

}  // namespace uvmtrace::faults
