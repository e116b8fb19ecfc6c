// SPDX-License-Identifier: Apache-2.0
// How long a measured kernel would take with everything resident. The experiment files do not say; faults take most of
// the time of these kernels, so a rule per kind of kernel is enough. A `native_ns` in the file goes first.
#pragma once

#include <cstdint>

#include "sim/config/system.h"
#include "sim/validate/experiment.h"

namespace uvmsim::validate {

// One thread that touches page after page: launch and exit only, the model adds every touch (runtime.touch_ns).
std::int64_t lone_thread_ns();

// A grid-stride loop of 16-byte accesses, 256 threads per block: the longer of its bytes at the GPU's memory bandwidth
// and its steps at the latency of a step, which decides for grids too small to fill the GPU.
std::int64_t stream_ns(std::uint64_t bytes, std::uint64_t grid_blocks, bool reads, const config::GpuConfig& gpu);

// A library kernel: the longer of all tensors once at the GPU's memory bandwidth and the arithmetic that its name and
// the tensors' shapes imply (matrix products and convolutions; 0 for others) at the GPU's peak.
std::int64_t library_ns(const Experiment& experiment, const MeasuredKernel& kernel, const config::GpuConfig& gpu);

// Multiplications and additions of the kernel as its name and the tensors' shapes imply them.
std::uint64_t library_flops(const Experiment& experiment, const MeasuredKernel& kernel);

}  // namespace uvmsim::validate
