// SPDX-License-Identifier: Apache-2.0
// Runs one program of call_programs.h on the GPU and times its calls. Nothing may record meanwhile.
#pragma once

#include <string>

#include "tracer/ground_truth/call_programs.h"
#include "tracer/ground_truth/device.h"

namespace uvmtrace::ground_truth {

class CallRunner {
 public:
  // Allocates the ordinary memory that copies need and loads all kernels.
  CallRunner(int device, ManagedBudget& budget);
  ~CallRunner();
  CallRunner(const CallRunner&) = delete;
  CallRunner& operator=(const CallRunner&) = delete;

  // Throws Refusal before anything is allocated, DeviceError if a CUDA call fails.
  CallTimes run(const CallProgram& program);

 private:
  void make(const Step& step, std::uint64_t total, char* data);
  void copy(const Step& step, char* data);

  int device_;
  ManagedBudget& budget_;
  cudaStream_t other_stream_ = nullptr;
  char* pinned_ = nullptr;
  char* pageable_ = nullptr;
  char* ordinary_ = nullptr;  // on the GPU
  std::uint32_t* touches_ = nullptr;
  std::uint32_t* sink_ = nullptr;
};

// The times of a process's first calls: its context, its first kernels. For a process that has not used CUDA yet.
struct FirstCalls {
  double context_us = 0;
  double first_launch_us = 0, first_sync_us = 0, second_launch_us = 0;  // of the first kernel
  double other_kernel_us = 0;                                           // the first launch of another kernel
  double first_managed_us = 0;                                          // cudaMallocManaged of 2 MB
  double first_prefetch_us = 0;  // a prefetch of this memory to the GPU after the host wrote it
};
FirstCalls time_first_calls(int device);
std::string to_line(const FirstCalls& times);

}  // namespace uvmtrace::ground_truth
