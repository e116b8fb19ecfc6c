// SPDX-License-Identifier: Apache-2.0
// Programs that wait for the GPU by other means than recorded calls: JAX's runtime learns of completed work by host
// callbacks.
#pragma once

#include <cstdint>

#include "tracer/merge/event.h"

namespace uvmtrace {

// Adds a wait for the device at the end of an iteration if all kernels launched before had ended by then, but no call
// had waited for the last of them: the program has waited unseen, or did not need to wait. With this wait, iterations
// contain their kernels in a replay too. For an iteration that the program does not end, the wait comes after its last
// work. Returns the number of waits; 0 for logs without times of kernels.
std::uint64_t add_unseen_waits(PassLog& log);

}  // namespace uvmtrace
