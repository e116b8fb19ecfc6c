// SPDX-License-Identifier: Apache-2.0
// An experiment as the program that was measured: trace records that the engine replays.
//
// The program first prepares (advice, pages written by the CPU, pages prefetched to the GPU) and synchronises the
// device; the measured part is between the marks of iteration 0.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/config/system.h"
#include "sim/trace/record.h"
#include "sim/validate/experiment.h"

namespace uvmsim::validate {

inline constexpr trace::Device kPeer{1};  // the GPU of Experiment::peer_resident

struct Program {
  trace::Header header;
  std::vector<trace::Record> records;
  std::vector<std::uint64_t> addresses;  // virtual address of each of the experiment's allocations
};

// `system` is used only to estimate durations on resident data (below). Throws InputError for an experiment that cannot
// be replayed.
Program make_program(const Experiment& experiment, const config::SystemConfig& system);

// The functions below (kernel_estimate.cpp) estimate the duration of a measured kernel with everything resident, which
// the experiment files do not contain; faults take most of the time of these kernels, so a rule per kind of kernel is
// enough. A `native_ns` in the file takes precedence.

// Launch and exit, the whole duration of a thread that touches page after page, as the model adds every touch
// (runtime.touch_ns). Measured: `ordered` kernels fault 0.9 us after their start and end 0.3 to 0.6 us after the last
// replay.
inline constexpr std::int64_t kLaunchNs = 1200;

// A grid-stride loop of 16-byte accesses, 256 threads per block: the longer of its bytes at the GPU's memory bandwidth
// and its steps at the latency of a step, which dominates for grids too small to fill the GPU.
std::int64_t stream_ns(std::uint64_t bytes, std::uint64_t grid_blocks, bool reads, const config::GpuConfig& gpu);

// A library kernel: the longer of all tensors once at the GPU's memory bandwidth and the arithmetic that its name and
// the tensors' shapes imply (matrix products and convolutions; 0 for others) at the GPU's peak.
std::int64_t library_ns(const Experiment& experiment, const MeasuredKernel& kernel, const config::GpuConfig& gpu);

// Returns the multiplications and additions that the kernel's name and the tensors' shapes imply.
std::uint64_t library_flops(const Experiment& experiment, const MeasuredKernel& kernel);

// Builds the program of make_program(), with one part per format.
class ProgramBuilder {
 public:
  ProgramBuilder(const Experiment& experiment, const config::SystemConfig& system);

  void add_known_access();
  void add_library_call();
  Program take() { return std::move(program_); }

 private:
  static trace::ObjectId object_id(std::size_t allocation) { return allocation + 1; }

  // experiment_program.cpp
  void allocate();
  void add_advice();
  void begin_measurement();
  void end_measurement();
  void add_host_access(std::size_t allocation, ByteRange range, trace::AccessMode mode);
  void add_prefetch(std::size_t allocation, ByteRange range, trace::Device destination);
  void add_sync();
  trace::Extent extent(ByteRange range, trace::AccessMode mode) const;
  ByteRange whole(std::size_t allocation) const { return {0, experiment_.allocations[allocation].bytes}; }

  // known_access_program.cpp
  void add_touch_kernel();
  void add_loop(std::uint32_t grid_blocks, std::uint32_t threads, std::uint32_t access_bytes, std::int64_t estimate_ns,
                std::vector<trace::ObjectAccess> accesses);
  void add_stream_kernel(std::uint32_t grid_blocks, bool reads, bool writes);
  void add_vector_add();
  void add_cpu_exchange();
  void add_measured_prefetches();

  // library_program.cpp
  void add_in_place(std::size_t allocation);
  void add_library_kernel(const MeasuredKernel& measured);
  void add_gather(trace::Kernel& kernel) const;

  const Experiment& experiment_;
  const config::SystemConfig& system_;
  Program program_;
};

}  // namespace uvmsim::validate
