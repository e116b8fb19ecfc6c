// SPDX-License-Identifier: Apache-2.0
// Programs that need more memory than the GPU has, for --oversubscribe: which ones, when they may run, and their lines
// in the file that `uvmsim validate` reads. No CUDA here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracer/ground_truth/measurement.h"

namespace uvmtrace::ground_truth {

inline constexpr const char* kOversubscribeFlag = "--oversubscribe";
inline constexpr const char* kAcknowledgeFlag = "--i-know-this-can-hang-the-gpu";

// May programs run beyond memory when the user gave these flags? Empty: yes. Otherwise why not, in one line.
std::string oversubscription_refusal(bool acknowledged);

// The `program` and its parameters as in sim/validate/README.md.
enum class BeyondProgram : std::uint8_t { kSparseBlocks, kSliceScans, kPageWalk };

struct BeyondRun {
  std::string name;
  BeyondProgram program = BeyondProgram::kSparseBlocks;
  std::uint64_t array_bytes = 0;      // of each array
  std::uint32_t arrays = 1;           // kPageWalk: 2
  std::uint32_t steps = 3;            // passes, scans, launches
  std::uint32_t rounds = 1;           // kSliceScans: all steps, so many times
  std::uint32_t pages_per_block = 0;  // kSparseBlocks
  std::uint64_t seed = 1;             // kSparseBlocks, and kPageWalk in random order
  bool growing = false;               // kSliceScans
  bool random_order = false;          // kPageWalk
  std::string cold_run;               // the run that fits, for those that do not

  std::uint64_t bytes() const { return array_bytes * arrays; }
};

// Each program at half of what the GPU has free, and beyond it.
std::vector<BeyondRun> beyond_runs(std::uint64_t free_device_bytes, std::uint64_t seed);

// The host must hold all of it, and have as much again. Empty: it does.
std::string host_refusal(const BeyondRun& run, std::uint64_t free_host_bytes);

// CUPTI's records while the host wrote the arrays, and in each step.
struct BeyondMeasurement {
  Recording preparation;
  std::vector<Recording> steps;
};

// The line with its newline.
std::string to_line(const BeyondRun& run, const BeyondMeasurement& measurement);

}  // namespace uvmtrace::ground_truth
