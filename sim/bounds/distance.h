// SPDX-License-Identifier: Apache-2.0
// The distance of a run from the best bound, and its parts.
#pragma once

#include <cstdint>

#include "sim/bounds/bounds.h"
#include "sim/engine/simulation.h"

namespace uvmsim::bounds {

// The run's time is the sum of the bound on computing (TimeBounds::compute) and these four parts, none of them
// negative:
struct Distance {
  // best bound - compute: the cost of the bytes that must move, at the best possible overlap
  Nanoseconds necessary_bytes{};
  // full-speed link time of the moved bytes - that of the bytes that must move: useless fetches, early evictions
  Nanoseconds excess_bytes{};
  // the driver's time for fault batches without that of the copies in them, and its wake-ups
  Nanoseconds fault_latency{};
  // the rest: copies that wait for each other or for faults, computing that waits for copies, calls of the host
  Nanoseconds serialisation{};
  // Bytes moved beyond those that must move.
  std::uint64_t excess_htod_bytes = 0, excess_dtoh_bytes = 0;
};

// Parts are limited in this order to the remaining time, because faults and copies that other work hides cost nothing.
// `bounds` must be of the same program, system and memory.
Distance distance_of(const RunResult& result, const Bounds& bounds, const config::SystemConfig& system);

}  // namespace uvmsim::bounds
