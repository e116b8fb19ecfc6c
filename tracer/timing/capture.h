// SPDX-License-Identifier: Apache-2.0
// Recognises calls on a stream that is being captured into a graph. Such a call only adds a node, and nothing runs
// until the graph is launched. It gives no event; its node gives one at every launch of the graph.
#pragma once

#include <cuda.h>

#include "tracer/timing/calls.h"

namespace uvmtrace {

// Called when the thread enters an observed call.
void begin_call_for_capture();
// Called when CUPTI announces a new graph node on this thread.
void note_node_created();
// Returns whether the call went into a graph. Call it after the call has returned.
bool was_captured(const Call& call, CUstream stream);

// Called when a capture begins or ends anywhere: while none is open, was_captured() takes no time.
void note_capture_begin();
void note_capture_end();

}  // namespace uvmtrace
