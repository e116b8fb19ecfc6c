// SPDX-License-Identifier: Apache-2.0
// Infers the accesses of tensor-copy kernels to workspaces: memory through which a library's kernels pass data to each
// other (layout transforms and partial sums of a convolution), and which no operator names.
//
// Kernels are "guessed" when their accesses come from an operator or from parameters, without phases or touches.
// Instrumented kernels on the same stream show the rest, because data that is read was written before:
// - If a kernel reads bytes of a tensor that no kernel wrote since the tensor was made, then the last guessed kernel
//   launched since wrote them: the tensor is a workspace of both.
// - If bytes of a workspace were written and not read yet, then the first guessed kernel after the write read them.
// - If the kernels that write the workspace read all of an operand, then the guessed kernels receive it through the
//   workspace, and do not read it again.
// - If an operand is only written, and another kernel wrote all of it (unread since it was made, or while reading the
//   workspace), then that kernel writes it, not the guessed one.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/trace/record.h"

namespace uvmtrace {

namespace trace = uvmsim::trace;

struct WorkspaceSummary {
  std::uint64_t kernels = 0;        // kernels whose accesses changed
  std::uint64_t added_bytes = 0;    // accesses to workspaces
  std::uint64_t removed_bytes = 0;  // accesses to operands
};

// `records` are all records of a trace, in program order.
WorkspaceSummary complete_workspaces(std::vector<trace::Record>& records);

}  // namespace uvmtrace
