// SPDX-License-Identifier: Apache-2.0
// Finds the times of kernels in child graphs (XLA's calls of cuBLAS, captured libraries).
#pragma once

#include "tracer/merge/event.h"

namespace uvmtrace {

// A launch in a child graph has the number of the child's own node. The profiler's record has the number of the node in
// the executable graph; these are consecutive, child by child. Therefore, for each graph launch, the kernels without a
// record and the records without a kernel are paired in order of their numbers, if there are equally many; otherwise
// they stay unpaired. Found in logs of JAX 0.11 on CUDA 13.0, driver 580.159.04; CUDA does not document it.
void join_child_graphs(PassLog& log);

}  // namespace uvmtrace
