// SPDX-License-Identifier: Apache-2.0
// What a program allocates from the driver's pools (cudaMallocAsync) lies in memory that the pool keeps. In a trace the
// pool's memory is an object, and the allocations are tensors in it, as those of a framework's caching allocator are.
#pragma once

#include "tracer/merge/event.h"

namespace uvmtrace {

// Turns pool allocations of the log into tensors, and adds an object for each contiguous range that they ever take; it
// lives from its first allocation to the end. Where the log has tensors of a framework, pool allocations stay objects.
void pools_to_tensors(PassLog& log);

}  // namespace uvmtrace
