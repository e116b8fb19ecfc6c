// SPDX-License-Identifier: Apache-2.0
// How much memory for managed data a GPU has in a run.
#pragma once

#include <cstdint>

#include "sim/engine/simulation.h"

namespace uvmsim::engine {

// The GPU's own: what neither the system reserves nor the contexts of further processes take, a multiple of 2 MB.
std::uint64_t own_capacity_bytes(const config::SystemConfig& system, unsigned gpu, std::uint32_t neighbours = 0);

// Memory of which a footprint is osf_thousandths / 1000 times, less what the program has beside managed data.
std::uint64_t factor_capacity_bytes(std::uint64_t footprint_bytes, std::uint64_t osf_thousandths,
                                    const config::SystemConfig& system);

// What a program gets, a multiple of 2 MB. An oversubscription factor divides options.footprint_bytes, which must be
// the resolved one. Throws InputError when there is no footprint to divide, less than one root chunk is left, or it is
// more than the GPU has and options.hypothetical_capacity is not set.
std::uint64_t capacity_bytes(const RunOptions& options, unsigned gpu);

}  // namespace uvmsim::engine
