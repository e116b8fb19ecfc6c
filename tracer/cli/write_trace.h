// SPDX-License-Identifier: Apache-2.0
// Merges the logs of a process into a trace file.
#pragma once

#include <string>

#include "sim/trace/names.h"
#include "sim/trace/statistics.h"
#include "tracer/merge/merge.h"
#include "tracer/merge/workspaces.h"

namespace uvmtrace {

struct WrittenTrace {
  MergeSummary merge;
  WorkspaceSummary workspaces;
  std::string unmanaged_memory;  // describes the GPU memory that the process takes in addition to its allocations
  std::uint64_t kernels = 0, objects = 0, tensors = 0, iterations = 0;
  std::array<std::uint64_t, trace::kCoverageNames.size()> kernels_by_coverage{};
};

// The logs of a process. `access` and `memory` may be null.
struct PassLogs {
  const PassLog* timing = nullptr;
  const PassLog* access = nullptr;
  const PassLog* memory = nullptr;
};

// Writes the trace file completely or not at all. Throws uvmsim::InputError if Merger or the file refuses the input.
WrittenTrace write_trace(const PassLogs& logs, const MergeOptions& options, const std::string& path,
                         int compression_level);

// Returns one or more lines for people, each ended by a newline, none empty: what was written and what the user should
// know.
std::string describe(const WrittenTrace& written, const PassLogs& logs, const std::string& path);

// Formats "100.0" for 3 of 3, "99.9" for 2999 of 3000; "0.0" for 0 of 0.
std::string percent(std::uint64_t part, std::uint64_t whole);

}  // namespace uvmtrace
