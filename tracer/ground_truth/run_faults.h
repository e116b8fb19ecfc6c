// SPDX-License-Identifier: Apache-2.0
// Runs the experiments of --raw-faults with the driver's queue open.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracer/faults/driver_queue.h"
#include "tracer/ground_truth/device.h"
#include "tracer/ground_truth/fault_experiments.h"
#include "tracer/ground_truth/fault_kernels.h"

namespace uvmtrace::ground_truth {

class FaultRunner {
 public:
  // Opens the queue; the GPU must be open. `most_blocks`: the largest grid. Throws DeviceError.
  FaultRunner(ManagedBudget& budget, std::uint32_t most_blocks);
  ~FaultRunner();
  FaultRunner(const FaultRunner&) = delete;
  FaultRunner& operator=(const FaultRunner&) = delete;

  // Runs one experiment and returns its section of the log. Throws Refusal or DeviceError.
  std::string run(const FaultExperiment& experiment);
  std::uint64_t dropped() const { return dropped_; }

 private:
  std::uint64_t time_kernel(const FaultExperiment& experiment, char* data);

  ManagedBudget& budget_;
  faults::DriverQueue queue_;
  faults::DriverEvents events_;
  BlockNote* notes_ = nullptr;
  float* sink_ = nullptr;
  std::uint64_t dropped_ = 0;
};

}  // namespace uvmtrace::ground_truth
