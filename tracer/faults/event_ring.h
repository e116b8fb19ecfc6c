// SPDX-License-Identifier: Apache-2.0
// The ring of entries that the driver fills and this class empties. Both access its memory at the same time.
#pragma once

#include <cstdint>

#include "tracer/faults/driver_events.h"

namespace uvmtrace::faults {

// The control page of the ring, in the driver's layout. The driver advances `put_behind` when entries are complete and
// does not write beyond `get_behind`; it counts entries that it cannot write as dropped, by event type.
struct RingControl {
  volatile std::uint32_t get_ahead, get_behind, put_ahead, put_behind;
  volatile std::uint64_t dropped[64];
};

class EventRing {
 public:
  EventRing() = default;
  // `entries` is a power of two; memory and control outlive the ring.
  EventRing(const std::uint8_t* memory, std::uint32_t entries, RingControl* control)
      : memory_(memory), mask_(entries - 1), control_(control) {}

  // Appends the entries since the last call.
  void drain(DriverEvents& events);
  // Returns how many events the driver has dropped since the last call.
  std::uint64_t take_dropped();
  // Returns the index of the entry that the driver writes next.
  std::uint32_t written() const { return control_->put_behind; }

 private:
  const std::uint8_t* memory_ = nullptr;
  std::uint32_t mask_ = 0;
  RingControl* control_ = nullptr;
  std::uint64_t dropped_before_ = 0;
};

}  // namespace uvmtrace::faults
