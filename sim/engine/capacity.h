// SPDX-License-Identifier: Apache-2.0
// How much memory a GPU has in a run. "Available memory" is what is free when the program's context exists and before
// it loads anything: what one can set on a real GPU. Of it the program's device memory takes its part while it runs
// (driver/device_memory.h); with runtime.device_memory_beside it is what is left for managed memory.
#pragma once

#include <cstdint>

#include "sim/engine/simulation.h"

namespace uvmsim::engine {

// The GPU's own: what neither the system reserves nor the contexts of further processes take, a multiple of 2 MB.
std::uint64_t own_capacity_bytes(const config::SystemConfig& system, unsigned gpu, std::uint32_t neighbours = 0);

// Memory of which a footprint is osf_thousandths / 1000 times.
std::uint64_t factor_capacity_bytes(std::uint64_t footprint_bytes, std::uint64_t osf_thousandths);

// What a program gets, a multiple of 2 MB. A factor divides options.footprint_bytes, which must be the resolved one;
// without a limit a hypothetical capacity holds that footprint. Throws InputError when there is none to divide, less
// than one root chunk is left, or it is more than the GPU has and options.hypothetical_capacity is not set.
std::uint64_t capacity_bytes(const RunOptions& options, unsigned gpu);

}  // namespace uvmsim::engine
