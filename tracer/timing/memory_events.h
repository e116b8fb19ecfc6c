// SPDX-License-Identifier: Apache-2.0
// The `alloc` and `free` lines, for calls and for the memory nodes of a graph.
#pragma once

#include <cuda.h>

#include "tracer/timing/calls.h"
#include "tracer/timing/live_allocations.h"

namespace uvmtrace {

// `first` as in call_event(). The stream is used only for memory of a pool.
void write_alloc(const Call& call, const Allocation& allocation, CUstream stream, bool first);
void write_free(const Call& call, const Allocation& allocation, CUstream stream, bool first);

}  // namespace uvmtrace
