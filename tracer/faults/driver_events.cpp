// SPDX-License-Identifier: Apache-2.0
#include "tracer/faults/driver_events.h"

#include <cstring>

namespace uvmtrace::faults {

namespace {

template <class Value>
void take(const std::uint8_t* entry, std::size_t offset, Value& value) {
  std::memcpy(&value, entry + offset, sizeof value);
}

}  // namespace

void DriverEvents::clear() {
  faults.clear();
  replays.clear();
  migrations.clear();
  unknown = 0;
}

void add_entry(const std::uint8_t* entry, DriverEvents& events) {
  if (entry[0] == kFaultEvent) {
    RawFault& fault = events.faults.emplace_back();
    take(entry, 1, fault.fault_type);
    take(entry, 2, fault.gpu);
    take(entry, 4, fault.gpc);
    take(entry, 6, fault.client);
    take(entry, 8, fault.address);
    take(entry, 16, fault.cpu_ns);
    take(entry, 24, fault.gpu_ns);
    take(entry, 32, fault.batch);
    take(entry, 36, fault.client_type);
    take(entry, 37, fault.access);
  } else if (entry[0] == kReplayEvent) {
    Replay& replay = events.replays.emplace_back();
    take(entry, 2, replay.gpu);
    take(entry, 4, replay.batch);
    take(entry, 8, replay.cpu_ns);
    take(entry, 16, replay.gpu_ns);
  } else if (entry[0] == kMigrationEvent) {
    Migration& migration = events.migrations.emplace_back();
    take(entry, 1, migration.cause);
    take(entry, 4, migration.source);
    take(entry, 6, migration.destination);
    take(entry, 16, migration.address);
    take(entry, 24, migration.bytes);
    take(entry, 32, migration.cpu_begin_ns);
    take(entry, 40, migration.cpu_end_ns);
    take(entry, 56, migration.gpu_begin_ns);
    take(entry, 64, migration.gpu_end_ns);
  } else {
    ++events.unknown;
  }
}

}  // namespace uvmtrace::faults
