// SPDX-License-Identifier: Apache-2.0
// The GPU memory that a process takes in addition to its allocations: code of kernels when it is loaded, handles of
// libraries, local memory, queues. Converts the log of the memory pass to records of a trace.
//
// The first reading, when the process has a context and has made no other calls, counts as zero. A trace describes this
// memory by iteration: the maximum during an iteration is allocated from its begin on. Memory taken before the first
// iteration belongs to the first; changes after the last iteration belong to none.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/trace/record.h"
#include "tracer/merge/event.h"

namespace uvmtrace {

struct UnmanagedMemory {
  struct Level {
    std::uint64_t iteration = 0;  // from the begin of this iteration on
    std::int32_t device = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<Level> levels;  // ascending by iteration; only where a level changes
  bool by_iteration = false;  // false: no iteration is marked, and levels hold for the whole program
  std::map<std::string, std::int64_t> taken_by_call;  // bytes by call, of all GPUs, until the last iteration ends
  std::int64_t between_calls = 0;                     // bytes that changed while no call of the process was running
  std::string refused;                                // the reason why nothing is known; empty otherwise

  // Formats "110.0 MiB: cuLaunchKernel 94.0, cuStreamCreate 16.0"
  std::string text() const;
};

UnmanagedMemory unmanaged_memory(const PassLog& memory);

// Adds the levels as objects of kind `device` to a trace's records.
void add_unmanaged_memory(const UnmanagedMemory& memory, std::vector<trace::Record>& records);

}  // namespace uvmtrace
