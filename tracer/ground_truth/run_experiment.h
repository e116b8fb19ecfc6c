// SPDX-License-Identifier: Apache-2.0
// Runs one experiment on the GPU.
#pragma once

#include <functional>

#include "tracer/ground_truth/device.h"
#include "tracer/ground_truth/measurement.h"
#include "tracer/ground_truth/observer.h"

namespace uvmtrace::ground_truth {

class Runner {
 public:
  // Allocates the memory that kernels need in addition to managed memory, and loads all kernels, so that none is loaded
  // during a measurement. `peer`: the GPU of Experiment::peer_resident, or kNoPeer.
  Runner(int device, int peer, ManagedBudget& budget);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Runs the experiment under CUPTI. Throws Refusal before anything is allocated, DeviceError if a CUDA call fails.
  Measurement run(const Experiment& experiment);
  // Times the experiment by CUDA events and the host's clock, with or without CUPTI; calls `prepared` when the memory
  // is in the experiment's initial state. Throws as run() does.
  Timing time(const Experiment& experiment, const std::function<void()>& prepared);

 private:
  void prepare(const Experiment& experiment, char* data);
  void launch(const Experiment& experiment, char* data);
  void execute(const Experiment& experiment, char* data);
  std::uint64_t native_ns(const Experiment& experiment, char* data);
  void load_kernels();
  // Runs `work` on the host and adds its time.
  template <class F>
  void by_host(F&& work);

  int device_, peer_;
  ManagedBudget& budget_;
  std::uint32_t* touches_ = nullptr;
  std::uint32_t* sink_ = nullptr;
  Timing* timing_ = nullptr;  // receives the running experiment's times; null: not wanted
  cudaEvent_t before_ = nullptr, after_ = nullptr;
};

}  // namespace uvmtrace::ground_truth
