// SPDX-License-Identifier: Apache-2.0
// CUPTI's records of one experiment, and its line in the file that `uvmsim validate` reads. It does not use CUDA.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tracer/ground_truth/experiment.h"

namespace uvmtrace::ground_truth {

// CUPTI's numbers (CUpti_ActivityUnifiedMemoryCounterKind).
enum class CounterKind : std::uint32_t {
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kCpuFault = 3,
  kGpuFault = 4,
  kThrashing = 5,
  kThrottling = 6,
  kRemoteMap = 7,
  kDeviceToDevice = 8,
};

struct CounterRecord {
  CounterKind kind = CounterKind::kGpuFault;
  std::uint64_t start_ns = 0, end_ns = 0;  // end is 0 for kinds without a duration
  std::uint64_t address = 0, value = 0;
  std::uint32_t flags = 0;
};

struct KernelRecord {
  std::uint64_t start_ns = 0, end_ns = 0;
  std::string name{};  // the mangled name
  std::array<std::int32_t, 3> grid{}, block{};
  std::uint32_t registers = 0, shared_bytes = 0;  // per thread, per block
};

// Everything that arrived between two queries.
struct Recording {
  std::vector<CounterRecord> counters;
  std::vector<KernelRecord> kernels;
  std::uint64_t dropped = 0;  // records that CUPTI says it lost
};

// The times of the same experiment without CUPTI, run by run. CUPTI makes it slower, up to 2.5 times.
struct Unobserved {
  std::vector<std::uint64_t> kernel_ns;  // sum of its kernels; empty if it has none
  std::vector<std::uint64_t> host_ns;    // accesses of the CPU, prefetches; empty if the host does nothing
  std::string host;                      // host_speed.h, as JSON
};

struct Measurement {
  std::uint64_t base = 0;      // address of the allocation
  std::uint64_t begin_ns = 0;  // on CUPTI's clock: earlier work is preparation
  Recording recording;
  std::uint64_t native_ns = 0;  // of the same kernel with everything resident; 0: not measured
  Unobserved unobserved;
};

// Returns why the measurement cannot be used: records were dropped or are evidently missing. Empty: it can be used.
std::string defect(const Experiment& experiment, const Measurement& measurement);

// Formats the line with its newline; times count from the first event. `repeat` counts from 1; later ones have _rep<n>
// in the name.
std::string to_line(const Experiment& experiment, const Measurement& measurement, std::uint32_t repeat);
// Returns the line without events, for an experiment with a defect: only its unobserved times are of use.
std::string to_line_of_times(const Experiment& experiment, const Measurement& measurement, std::uint32_t repeat);

}  // namespace uvmtrace::ground_truth
