// SPDX-License-Identifier: Apache-2.0
// Programs that wait for the GPU by other means than calls that the log has: JAX's runtime hears of completed work by
// host callbacks.
#pragma once

#include <cstdint>

#include "tracer/merge/event.h"

namespace uvmtrace {

// Where an iteration ends, all kernels launched before had ended by then, and no call had waited for the last of them,
// the program has waited unseen, or had nothing to wait for: a wait for the device is added. So iterations contain
// their kernels in a replay, too. Of an iteration that the program does not end, the wait stands behind its last work.
// Returns how many; 0 for logs without times of kernels.
std::uint64_t add_unseen_waits(PassLog& log);

}  // namespace uvmtrace
