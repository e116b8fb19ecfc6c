// SPDX-License-Identifier: Apache-2.0
// How far a run is from the best bound, and what lies between.
#pragma once

#include <cstdint>

#include "sim/bounds/bounds.h"
#include "sim/engine/simulation.h"

namespace uvmsim::bounds {

// The run's time is the bound on computing (TimeBounds::compute) and these four, none of them negative:
struct Distance {
  // best bound - compute: what the bytes that must move cost, however well they are overlapped
  Nanoseconds necessary_bytes{};
  // full-speed link time of what moved - that of what must move: fetched in vain, evicted too early
  Nanoseconds excess_bytes{};
  // the driver's time with fault batches without that of the copies in them, and its wake-ups
  Nanoseconds fault_latency{};
  // the rest: copies that wait for each other, for faults, and computing for them; calls of the host
  Nanoseconds serialisation{};
  // Moved beyond what must move.
  std::uint64_t excess_htod_bytes = 0, excess_dtoh_bytes = 0;
};

// Each part in this order, the later ones only as far as they fit: faults and copies that other work hides cost
// nothing. `bounds` are of the same program, system and memory.
Distance distance_of(const RunResult& result, const Bounds& bounds, const config::SystemConfig& system);

}  // namespace uvmsim::bounds
