// SPDX-License-Identifier: Apache-2.0
// The kernels of the experiments of --raw-faults. Every thread block records its SM and its times.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "tracer/ground_truth/fault_experiments.h"

namespace uvmtrace::ground_truth {

// Written by the first thread of a block to ordinary device memory; times are of the GPU's clock (globaltimer).
struct BlockNote {
  unsigned long long begin_ns = 0, end_ns = 0;
  unsigned int sm = 0, unused = 0;
};

// Launches the kernel on zeroed `data`; stores write zeros (atomics add 0). `notes` has an element per block, `sink` 4
// bytes.
cudaError_t launch_fault_experiment(const FaultExperiment& experiment, char* data, BlockNote* notes, float* sink);

}  // namespace uvmtrace::ground_truth
