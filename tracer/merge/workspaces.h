// SPDX-License-Identifier: Apache-2.0
// What kernels that load by tensor copies read and wrote of the memory through which a library's kernels hand data to
// each other: a convolution's layout transforms and the sums of its parts stand in a workspace that no operator names.
//
// The instrumented kernels around them show it, since what is read has been written before. Of the kernels on one
// stream ("guessed": those whose accesses come from an operator or from parameters, without phases or touches):
// - What a kernel reads of a tensor and nobody wrote since the tensor was made, the guessed kernel launched last since
//   then wrote: the tensor is a workspace of both.
// - What was written to a workspace before and not read yet, the first guessed kernel behind the write read.
// - An operand that the workspace's writers read whole reached the guessed kernels through it: they do not read it
// again.
// - An operand that is only written, and that another kernel wrote whole since it was made, unread since, or writes
//   whole when it reads the workspace, is that kernel's.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/trace/record.h"

namespace uvmtrace {

namespace trace = uvmsim::trace;

struct WorkspaceSummary {
  std::uint64_t kernels = 0;        // whose accesses changed
  std::uint64_t added_bytes = 0;    // of workspaces
  std::uint64_t removed_bytes = 0;  // of operands
};

// `records` are a trace's, whole, in program order.
WorkspaceSummary complete_workspaces(std::vector<trace::Record>& records);

}  // namespace uvmtrace
