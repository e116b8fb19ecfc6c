// SPDX-License-Identifier: Apache-2.0
// Times of kernels in child graphs (XLA's calls of cuBLAS, captured libraries).
#pragma once

#include "tracer/merge/event.h"

namespace uvmtrace {

// A launch in a child graph carries the number of the child's own node. The profiler's record carries the number that
// the node got in the executable graph: consecutive, child by child. So of each graph launch, the kernels without a
// record and the records without a kernel, both by number, belong together, if there are as many of either; if not,
// they stay apart. Found in logs of JAX 0.11 on CUDA 13.0, driver 580.159.04: CUDA does not document it.
void join_child_graphs(PassLog& log);

}  // namespace uvmtrace
