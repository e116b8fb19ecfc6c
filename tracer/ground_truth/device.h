// SPDX-License-Identifier: Apache-2.0
// The GPU, and managed memory within the budget.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "tracer/ground_truth/managed_budget.h"

namespace uvmtrace::ground_truth {

// A CUDA call failed, or a required feature is missing: one line.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void check(cudaError_t status, const char* what);

struct FreeMemory {
  std::uint64_t device_bytes = 0, host_bytes = 0;
};
FreeMemory free_memory();

// Selects the device and creates its context. Throws if there is none or it cannot migrate managed memory on demand.
struct DeviceInfo {
  std::string name;
  std::uint32_t sm_count = 0;
  int driver = 0, runtime = 0;  // in CUDA's numbering
};
DeviceInfo open_device(int device);

inline constexpr int kNoPeer = -1;
// Creates a context on `peer` too and lets both access each other's memory; `device` stays selected. Throws if they
// cannot.
void open_peer(int device, int peer);

// Memory of cudaMallocManaged within the budget, which is checked before every allocation; freed at the end of the
// scope.
class ManagedMemory {
 public:
  ManagedMemory(std::uint64_t bytes, ManagedBudget& budget);
  ~ManagedMemory();
  ManagedMemory(const ManagedMemory&) = delete;
  ManagedMemory& operator=(const ManagedMemory&) = delete;

  char* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  void free();  // frees the memory now and checks the result

 private:
  ManagedBudget& budget_;
  std::uint64_t bytes_;
  char* data_ = nullptr;
};

// Prefetches a part of managed memory to GPU `device`, or to the host (-1). First checks that there is still room.
void prefetch(const char* data, std::uint64_t bytes, int device);
// The two steps of prefetch(), for calls that are timed.
void check_prefetch_room(std::uint64_t bytes, int device);
void start_prefetch(const char* data, std::uint64_t bytes, int device, cudaStream_t stream = nullptr);
void advise(const char* data, std::uint64_t bytes, cudaMemoryAdvise advice, int device);

}  // namespace uvmtrace::ground_truth
