// SPDX-License-Identifier: Apache-2.0
// The GPU, and managed memory within the budget.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "tracer/ground_truth/managed_budget.h"

namespace uvmtrace::ground_truth {

// A CUDA call failed, or something is missing: one line.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void check(cudaError_t status, const char* what);

struct FreeMemory {
  std::uint64_t device_bytes = 0, host_bytes = 0;
};
FreeMemory free_memory();

// Selects it, creates its context. Throws where there is none or it cannot migrate managed memory on demand.
struct DeviceInfo {
  std::string name;
  std::uint32_t sm_count = 0;
  int driver = 0, runtime = 0;  // as CUDA numbers them
};
DeviceInfo open_device(int device);

inline constexpr int kNoPeer = -1;
// Creates a context on `peer` too and lets both reach each other; `device` stays selected. Throws where they cannot.
void open_peer(int device, int peer);

// cudaMallocManaged within the budget, asked before every allocation; freed at the end of the scope.
class ManagedMemory {
 public:
  ManagedMemory(std::uint64_t bytes, ManagedBudget& budget);
  ~ManagedMemory();
  ManagedMemory(const ManagedMemory&) = delete;
  ManagedMemory& operator=(const ManagedMemory&) = delete;

  char* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  void free();  // now, checked

 private:
  ManagedBudget& budget_;
  std::uint64_t bytes_;
  char* data_ = nullptr;
};

// A part of managed memory to GPU `device`, or to the host (-1). Checks that there is still room before.
void prefetch(const char* data, std::uint64_t bytes, int device);
// The two halves of it, where the call is timed.
void check_prefetch_room(std::uint64_t bytes, int device);
void start_prefetch(const char* data, std::uint64_t bytes, int device, cudaStream_t stream = nullptr);
void advise(const char* data, std::uint64_t bytes, cudaMemoryAdvise advice, int device);

}  // namespace uvmtrace::ground_truth
