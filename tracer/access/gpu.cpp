// SPDX-License-Identifier: Apache-2.0
#include "tracer/access/gpu.h"

#include <cuda.h>
#include <dlfcn.h>

namespace uvmtrace::access {

namespace {
// Only the types of cuda.h's declarations are used: nothing links to the driver.
template <typename Function>
Function* look_up(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}
}  // namespace

GpuDescription describe_gpu(int device) {
  GpuDescription gpu;
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return gpu;
  const auto get_name = look_up<decltype(cuDeviceGetName)>(driver, "cuDeviceGetName");
  const auto get_attribute = look_up<decltype(cuDeviceGetAttribute)>(driver, "cuDeviceGetAttribute");
  const auto get_version = look_up<decltype(cuDriverGetVersion)>(driver, "cuDriverGetVersion");
  char name[256] = {};
  if (get_name != nullptr && get_name(name, sizeof name, device) == CUDA_SUCCESS) gpu.name = name;
  if (get_attribute != nullptr) {
    (void)get_attribute(&gpu.sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    (void)get_attribute(&gpu.compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    (void)get_attribute(&gpu.compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  }
  if (get_version != nullptr) (void)get_version(&gpu.cuda_version);
  ::dlclose(driver);
  return gpu;
}

std::uint64_t device_memory_bytes(int device) {
  std::size_t bytes = 0;
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return 0;
  const auto get_total = look_up<decltype(cuDeviceTotalMem)>(driver, "cuDeviceTotalMem_v2");
  if (get_total == nullptr || get_total(&bytes, device) != CUDA_SUCCESS) bytes = 0;
  ::dlclose(driver);
  return bytes;
}

}  // namespace uvmtrace::access
