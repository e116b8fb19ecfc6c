// SPDX-License-Identifier: Apache-2.0
// The use of a program's memory: which processor writes it, how much of it an iteration touches, and how long kernels
// wait.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/simulation.h"
#include "sim/report/run_record.h"
#include "sim/trace/record.h"

namespace uvmsim::advise {

// Managed memory that lives as long as the program repeats its iterations: it is allocated before the end of the first
// iteration, and not freed in that iteration nor in a later one but the last. If no iterations are marked, all managed
// memory counts.
struct Object {
  // Large objects are divided: the driver moves 2 MiB at a time, and a smaller part cannot stay elsewhere by itself.
  static constexpr std::uint32_t kParts = 20;
  static constexpr std::uint64_t kLeastDividedBytes = kParts * (std::uint64_t{2} << 20);

  trace::ObjectId id = trace::kNoObject;
  bool is_tensor = false;
  std::string name;  // name of a tensor; may be empty
  std::uint64_t bytes = 0;
  std::uint64_t kernels = 0;                            // number of kernels that touch it
  std::uint64_t touched_bytes = 0;                      // sum over these kernels
  std::array<std::uint64_t, kParts> touched_by_part{};  // the same for each part of a divided object
  bool gpu_writes = false, host_touches = false;        // after the first iteration began
  std::int64_t stall_ns = 0;                            // its share of the waits of the quoted iterations

  bool is_divided() const { return bytes >= kLeastDividedBytes; }
};

struct Memory {
  std::vector<Object> objects;  // the longest waits first
  bool frees_tensors = false;   // within iterations
  bool has_tensors = false;
};

// Reads the program. Segments that contain tensors are not objects of their own.
Memory read_memory(std::uint32_t quantum_bytes, const RecordSource& source);

// Fills in the waits from the profile that `run` wrote, and sorts.
void add_waits(Memory& memory, const std::string& profile, const report::RunRecord& run);

}  // namespace uvmsim::advise
