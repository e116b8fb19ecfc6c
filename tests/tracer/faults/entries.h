// SPDX-License-Identifier: Apache-2.0
// Builds events as the driver writes them into its queue.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "tracer/faults/driver_events.h"

namespace uvmtrace::faults {

using Entry = std::array<std::uint8_t, kEntryBytes>;

template <class Value>
void put(Entry& entry, std::size_t offset, Value value) {
  std::memcpy(entry.data() + offset, &value, sizeof value);
}

inline Entry entry_of(const RawFault& fault) {
  Entry entry{};
  entry[0] = 3;
  entry[1] = fault.fault_type;
  put(entry, 2, fault.gpu);
  put(entry, 4, fault.gpc);
  put(entry, 6, fault.client);
  put(entry, 8, fault.address);
  put(entry, 16, fault.cpu_ns);
  put(entry, 24, fault.gpu_ns);
  put(entry, 32, fault.batch);
  entry[36] = fault.client_type;
  entry[37] = fault.access;
  return entry;
}

inline Entry entry_of(const Replay& replay) {
  Entry entry{};
  entry[0] = 4;
  entry[1] = kClientGpc;
  put(entry, 2, replay.gpu);
  put(entry, 4, replay.batch);
  put(entry, 8, replay.cpu_ns);
  put(entry, 16, replay.gpu_ns);
  return entry;
}

inline Entry entry_of(const Migration& migration) {
  Entry entry{};
  entry[0] = 2;
  entry[1] = migration.cause;
  put(entry, 4, migration.source);
  put(entry, 6, migration.destination);
  put(entry, 16, migration.address);
  put(entry, 24, migration.bytes);
  put(entry, 32, migration.cpu_begin_ns);
  put(entry, 40, migration.cpu_end_ns);
  put(entry, 56, migration.gpu_begin_ns);
  put(entry, 64, migration.gpu_end_ns);
  return entry;
}

}  // namespace uvmtrace::faults
