// SPDX-License-Identifier: Apache-2.0
#include "tracer/ground_truth/device.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace uvmtrace::ground_truth {

namespace {

// Returns MemAvailable of /proc/meminfo, which includes caches that can be dropped; otherwise the free memory that the
// C library reports.
std::uint64_t free_host_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    unsigned long long kib = 0;
    if (std::sscanf(line.c_str(), "MemAvailable: %llu kB", &kib) == 1) return kib * 1024;
  }
  const long pages = sysconf(_SC_AVPHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes) : 0;
}

#if CUDART_VERSION >= 13000
cudaMemLocation location(int device) {
  cudaMemLocation place{};
  place.type = device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  place.id = device < 0 ? 0 : device;
  return place;
}
#endif

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw DeviceError(std::string(what) + ": " + cudaGetErrorString(status));
}

FreeMemory free_memory() {
  std::size_t free_bytes = 0, total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  return {free_bytes, free_host_bytes()};
}

DeviceInfo open_device(int device) {
  check(cudaSetDevice(device), "cudaSetDevice");
  check(cudaFree(nullptr), "creating a context");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  DeviceInfo info;
  info.name = properties.name;
  info.sm_count = static_cast<std::uint32_t>(properties.multiProcessorCount);
  check(cudaDriverGetVersion(&info.driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&info.runtime), "cudaRuntimeGetVersion");
  if (properties.concurrentManagedAccess == 0) {
    throw DeviceError(info.name + " does not migrate managed memory on demand here (concurrentManagedAccess is 0)");
  }
  return info;
}

void open_peer(int device, int peer) {
  int possible = 0;
  check(cudaDeviceCanAccessPeer(&possible, device, peer), "cudaDeviceCanAccessPeer");
  if (possible == 0) {
    throw DeviceError("GPU " + std::to_string(device) + " cannot reach GPU " + std::to_string(peer) + " directly");
  }
  check(cudaDeviceEnablePeerAccess(peer, 0), "cudaDeviceEnablePeerAccess");
  open_device(peer);
  check(cudaDeviceEnablePeerAccess(device, 0), "cudaDeviceEnablePeerAccess");
  check(cudaSetDevice(device), "cudaSetDevice");
}

ManagedMemory::ManagedMemory(std::uint64_t bytes, ManagedBudget& budget) : budget_(budget), bytes_(bytes) {
  const FreeMemory room = free_memory();
  const std::string refusal = budget.refusal(bytes, room.device_bytes, room.host_bytes);
  if (!refusal.empty()) throw Refusal(refusal);
  void* data = nullptr;
  check(cudaMallocManaged(&data, bytes), "cudaMallocManaged");
  data_ = static_cast<char*>(data);
  budget_.allocated(bytes);
}

ManagedMemory::~ManagedMemory() {
  if (data_ == nullptr) return;
  cudaDeviceSynchronize();
  cudaFree(data_);
  budget_.freed(bytes_);
}

void ManagedMemory::free() {
  const cudaError_t status = cudaFree(data_);
  data_ = nullptr;
  budget_.freed(bytes_);
  check(status, "cudaFree");
}

void prefetch(const char* data, std::uint64_t bytes, int device) {
  check_prefetch_room(bytes, device);
  start_prefetch(data, bytes, device);
}

void check_prefetch_room(std::uint64_t bytes, int device) {
  if (device >= 0 && free_memory().device_bytes / 2 < bytes) {
    throw Refusal("prefetching " + std::to_string(bytes) + " bytes: the GPU has no longer twice that free");
  }
}

void start_prefetch(const char* data, std::uint64_t bytes, int device, cudaStream_t stream) {
#if CUDART_VERSION >= 13000
  check(cudaMemPrefetchAsync(data, bytes, location(device), 0, stream), "cudaMemPrefetchAsync");
#else
  check(cudaMemPrefetchAsync(data, bytes, device < 0 ? cudaCpuDeviceId : device, stream), "cudaMemPrefetchAsync");
#endif
}

void advise(const char* data, std::uint64_t bytes, cudaMemoryAdvise advice, int device) {
#if CUDART_VERSION >= 13000
  check(cudaMemAdvise(data, bytes, advice, location(device)), "cudaMemAdvise");
#else
  check(cudaMemAdvise(data, bytes, advice, device < 0 ? cudaCpuDeviceId : device), "cudaMemAdvise");
#endif
}

}  // namespace uvmtrace::ground_truth
