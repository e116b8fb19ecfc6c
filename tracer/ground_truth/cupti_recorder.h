// SPDX-License-Identifier: Apache-2.0
// Kernel times and unified-memory events from CUPTI's activity API. One per process.
#pragma once

#include <cstdint>
#include <string>

#include "tracer/ground_truth/measurement.h"

namespace uvmtrace::ground_truth {

// Starts recording. Call it after CUDA contexts are created and before managed memory is allocated. `peer`: another GPU
// whose copies to and from `device` count, or below 0 for none. Returns an error in one line, or an empty text.
std::string start_recording(std::uint32_t device, int peer);

// Returns the current time on the clock of the records.
std::uint64_t recording_clock_ns();

// Returns the records since the last call. Waits until no more arrive, because the driver delivers its events late.
Recording take_recording();

}  // namespace uvmtrace::ground_truth
