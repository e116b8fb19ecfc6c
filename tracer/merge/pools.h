// SPDX-License-Identifier: Apache-2.0
// A program's allocations from the driver's pools (cudaMallocAsync) are in memory that the pool keeps. In a trace the
// pool's memory is an object, and the allocations are tensors in it, like those of a framework's caching allocator.
#pragma once

#include "tracer/merge/event.h"

namespace uvmtrace {

// Turns pool allocations of the log into tensors, and adds an object for each contiguous range that they ever occupy;
// it lives from its first allocation to the end. If the log has tensors of a framework, pool allocations stay objects.
void pools_to_tensors(PassLog& log);

}  // namespace uvmtrace
