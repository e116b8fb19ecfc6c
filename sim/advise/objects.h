// SPDX-License-Identifier: Apache-2.0
// The use of a program's memory: which processor writes it, how much of it an iteration touches, and how long kernels
// wait.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/simulation.h"
#include "sim/report/run_record.h"
#include "sim/trace/record.h"

namespace uvmsim::advise {

// Managed memory that lives as long as the program repeats itself: allocated before the end of the first iteration and
// not freed within one, or anywhere where no iterations are marked.
struct Object {
  trace::ObjectId id = trace::kNoObject;
  bool is_tensor = false;
  std::string name;  // of a tensor; may be empty
  std::uint64_t bytes = 0;
  std::uint64_t kernels = 0;                      // that touch it
  std::uint64_t touched_bytes = 0;                // summed over them
  bool gpu_writes = false, host_touches = false;  // after the first iteration began
  std::int64_t stall_ns = 0;                      // its share of the waits of the quoted iterations
};

struct Memory {
  std::vector<Object> objects;  // the longest waits first
  bool frees_tensors = false;   // within iterations
  bool has_tensors = false;
};

// Reads the program; segments that tensors lie in are no objects of their own.
Memory read_memory(std::uint32_t quantum_bytes, const RecordSource& source);

// Fills in the waits from the profile that `run` wrote, and sorts.
void add_waits(Memory& memory, const std::string& profile, const report::RunRecord& run);

}  // namespace uvmsim::advise
