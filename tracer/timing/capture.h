// SPDX-License-Identifier: Apache-2.0
// A call on a stream that is being captured into a graph only adds a node: nothing runs until the graph is launched.
// Such calls give no event; the nodes do, at every launch of the graph.
#pragma once

#include <cuda.h>

#include "tracer/timing/calls.h"

namespace uvmtrace {

// The thread enters an observed call.
void begin_call_for_capture();
// CUPTI announced a new graph node on this thread.
void note_node_created();
// Returns whether the call went into a graph. Call it after the call has returned.
bool was_captured(const Call& call, CUstream stream);

// A capture began or ended somewhere: while none is open, was_captured() costs nothing.
void note_capture_begin();
void note_capture_end();

}  // namespace uvmtrace
