// SPDX-License-Identifier: Apache-2.0
// Reduces a kernel with scattered accesses to the limits of a trace's record.
#pragma once

#include "sim/trace/record.h"

namespace uvmtrace {

// Merges neighbouring phases in pairs until the rest fits (a single one is dropped), then closes gaps in the accesses,
// the smallest first. Returns false if nothing had to be done.
bool limit_size(uvmsim::trace::Kernel& kernel);

// Does the same with other limits, for tests: bytes of lists in the file, extents of phases in memory.
bool limit_size(uvmsim::trace::Kernel& kernel, std::size_t max_bytes, std::size_t max_phase_extents);

}  // namespace uvmtrace
