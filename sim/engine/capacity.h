// SPDX-License-Identifier: Apache-2.0
// The memory that a GPU has in a run. "Available memory" is the free memory after the program's context was created and
// before it loads anything, as one can set it on a real GPU. The program's device memory takes part of it during the
// run (driver/device_memory.h); with runtime.device_memory_beside all of it is for managed memory.
#pragma once

#include <cstdint>

#include "sim/engine/simulation.h"

namespace uvmsim::engine {

// Returns the GPU's memory without what the system reserves and without the contexts of `neighbours` further processes,
// a multiple of 2 MB.
std::uint64_t own_capacity_bytes(const config::SystemConfig& system, unsigned gpu, std::uint32_t neighbours = 0);

// Returns the capacity of which the footprint is osf_thousandths / 1000 times.
std::uint64_t factor_capacity_bytes(std::uint64_t footprint_bytes, std::uint64_t osf_thousandths);

// Returns the capacity for a program, a multiple of 2 MB. An oversubscription factor divides options.footprint_bytes,
// which must be resolved; without a limit a hypothetical capacity holds that footprint. Throws InputError if there is
// no footprint to divide, if less than one root chunk is left, or if the capacity exceeds the GPU's memory and
// options.hypothetical_capacity is not set.
std::uint64_t capacity_bytes(const RunOptions& options, unsigned gpu);

}  // namespace uvmsim::engine
