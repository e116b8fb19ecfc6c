// SPDX-License-Identifier: Apache-2.0
#include "tracer/timing/driver_library.h"

#include <dlfcn.h>

namespace uvmtrace {

namespace {
DriverLibrary look_up() {
  DriverLibrary table;
  void* const library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return table;
#define UVMTRACE_LOOK_UP(name) table.name = reinterpret_cast<decltype(table.name)>(::dlsym(library, #name));
  UVMTRACE_LOOK_UP(cuDriverGetVersion)
  UVMTRACE_LOOK_UP(cuDeviceGetName)
  UVMTRACE_LOOK_UP(cuDeviceGetAttribute)
  UVMTRACE_LOOK_UP(cuFuncGetParamInfo)
  UVMTRACE_LOOK_UP(cuKernelGetParamInfo)
  UVMTRACE_LOOK_UP(cuFuncGetName)
  UVMTRACE_LOOK_UP(cuKernelGetName)
  UVMTRACE_LOOK_UP(cuTensorMapEncodeTiled)
  UVMTRACE_LOOK_UP(cuTensorMapEncodeIm2col)
  UVMTRACE_LOOK_UP(cuCtxGetDevice)
  UVMTRACE_LOOK_UP(cuMemGetInfo_v2)
  UVMTRACE_LOOK_UP(cuDeviceGetMemPool)
  UVMTRACE_LOOK_UP(cuMemPoolGetAttribute)
  UVMTRACE_LOOK_UP(cuDeviceGetGraphMemAttribute)
  UVMTRACE_LOOK_UP(cuThreadExchangeStreamCaptureMode)
  UVMTRACE_LOOK_UP(cuStreamIsCapturing)
  UVMTRACE_LOOK_UP(cuGraphGetNodes)
  UVMTRACE_LOOK_UP(cuGraphNodeGetType)
  UVMTRACE_LOOK_UP(cuGraphKernelNodeGetParams_v2)
  UVMTRACE_LOOK_UP(cuGraphMemcpyNodeGetParams)
  UVMTRACE_LOOK_UP(cuGraphMemsetNodeGetParams)
  UVMTRACE_LOOK_UP(cuGraphChildGraphNodeGetGraph)
  UVMTRACE_LOOK_UP(cuGraphMemAllocNodeGetParams)
  UVMTRACE_LOOK_UP(cuGraphMemFreeNodeGetParams)
#undef UVMTRACE_LOOK_UP
  return table;
}
}  // namespace

const DriverLibrary& driver() {
  static const DriverLibrary table = look_up();
  return table;
}

GpuDescription describe_gpu(CUdevice device) {
  GpuDescription gpu;
  const DriverLibrary& api = driver();
  char name[256] = {};
  if (api.cuDeviceGetName != nullptr && api.cuDeviceGetName(name, sizeof name - 1, device) == CUDA_SUCCESS) {
    gpu.name = name;
  }
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    if (api.cuDeviceGetAttribute == nullptr || api.cuDeviceGetAttribute(&value, which, device) != CUDA_SUCCESS) {
      return 0;
    }
    return value;
  };
  gpu.sm_count = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  gpu.compute_capability_major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  gpu.compute_capability_minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  if (api.cuDriverGetVersion != nullptr) (void)api.cuDriverGetVersion(&gpu.cuda_version);
  return gpu;
}

}  // namespace uvmtrace
