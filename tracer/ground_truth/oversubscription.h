// SPDX-License-Identifier: Apache-2.0
// Programs that need more memory than the GPU has, for --oversubscribe: the list, the condition under which they may
// run, and their lines in the file that `uvmsim validate` reads. This code does not use CUDA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracer/ground_truth/measurement.h"

namespace uvmtrace::ground_truth {

inline constexpr const char* kOversubscribeFlag = "--oversubscribe";
inline constexpr const char* kAcknowledgeFlag = "--i-know-this-can-hang-the-gpu";

// Returns in one line why programs must not run beyond memory, given the user's flag; empty if they may.
std::string oversubscription_refusal(bool acknowledged);

// The `program` and its parameters as in sim/validate/README.md.
enum class BeyondProgram : std::uint8_t { kSparseBlocks, kSliceScans, kPageWalk };

struct BeyondRun {
  std::string name;
  BeyondProgram program = BeyondProgram::kSparseBlocks;
  std::uint64_t array_bytes = 0;      // of each array
  std::uint32_t arrays = 1;           // kPageWalk: 2
  std::uint32_t steps = 3;            // passes, scans, launches
  std::uint32_t rounds = 1;           // kSliceScans: how often all steps are repeated
  std::uint32_t pages_per_block = 0;  // kSparseBlocks
  std::uint64_t seed = 1;             // kSparseBlocks, and kPageWalk in random order
  bool growing = false;               // kSliceScans
  bool random_order = false;          // kPageWalk
  std::string cold_run;               // the corresponding run that fits, for runs that do not

  std::uint64_t bytes() const { return array_bytes * arrays; }
};

// Returns each program at half of the GPU's free memory, and beyond the free memory.
std::vector<BeyondRun> beyond_runs(std::uint64_t free_device_bytes, std::uint64_t seed);

// Returns an error if the host cannot hold all of it and have as much memory again; empty if it can.
std::string host_refusal(const BeyondRun& run, std::uint64_t free_host_bytes);

// CUPTI's records while the host wrote the arrays, and during each step.
struct BeyondMeasurement {
  Recording preparation;
  std::vector<Recording> steps;
};

// Formats the line with its newline.
std::string to_line(const BeyondRun& run, const BeyondMeasurement& measurement);

}  // namespace uvmtrace::ground_truth
