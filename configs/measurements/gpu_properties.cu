// SPDX-License-Identifier: Apache-2.0
// Prints what the group "gpus" of a system file and the zero-copy figures of "host_links" need. Not part of the build:
//   nvcc -O2 -arch=native gpu_properties.cu -o gpu_properties && ./gpu_properties
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CHECK(call)                                                                         \
  do {                                                                                      \
    const cudaError_t status = (call);                                                      \
    if (status != cudaSuccess) {                                                            \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));                  \
      std::exit(1);                                                                         \
    }                                                                                       \
  } while (false)

__global__ void read_all(const float4* data, size_t count, float* sink) {
  float sum = 0;
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count; i += size_t{gridDim.x} * blockDim.x) {
    const float4 value = data[i];
    sum += value.x + value.y + value.z + value.w;
  }
  if (sum == -1.0f) {  // never true for the data written below; keeps the reads alive
    *sink = sum;
  }
}

__global__ void write_all(float4* data, size_t count) {
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count; i += size_t{gridDim.x} * blockDim.x) {
    data[i] = make_float4(1, 2, 3, static_cast<float>(i & 0xff));
  }
}

template <class Launch>
double median_gb_per_s(size_t bytes, const Launch& launch) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<double> rates;
  for (int repeat = 0; repeat < 7; ++repeat) {
    CHECK(cudaEventRecord(begin));
    launch();
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    rates.push_back(static_cast<double>(bytes) / (milliseconds * 1e6));
  }
  std::sort(rates.begin(), rates.end());
  return rates[rates.size() / 2];
}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  CHECK(cudaDeviceGetAttribute(&value, which, 0));
  return value;
}

int main() {
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  std::printf("model %s, compute capability %d.%d\n", properties.name, properties.major, properties.minor);
  std::printf("total memory %zu bytes\n", properties.totalGlobalMem);
  CHECK(cudaFree(nullptr));  // creates the context
  size_t free_bytes = 0, total_bytes = 0;
  CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  std::printf("free after creating a context %zu bytes of %zu\n", free_bytes, total_bytes);
  std::printf("sm_count %d\n", properties.multiProcessorCount);
  std::printf("max_threads_per_sm %d\n", properties.maxThreadsPerMultiProcessor);
  std::printf("max_blocks_per_sm %d\n", attribute(cudaDevAttrMaxBlocksPerMultiprocessor));
  std::printf("registers_per_sm %d\n", properties.regsPerMultiprocessor);
  std::printf("shared_bytes_per_sm %zu\n", properties.sharedMemPerMultiprocessor);
  std::printf("sm_clock_khz %d\n", attribute(cudaDevAttrClockRate));
  std::printf("memory clock %d kHz, bus %d bits\n", attribute(cudaDevAttrMemoryClockRate),
              attribute(cudaDevAttrGlobalMemoryBusWidth));

  const size_t bytes = size_t{1} << 30, count = bytes / sizeof(float4);
  float4 *host = nullptr, *device = nullptr;
  float* sink = nullptr;
  CHECK(cudaHostAlloc(&host, bytes, cudaHostAllocMapped));
  CHECK(cudaMalloc(&device, bytes));
  CHECK(cudaMalloc(&sink, sizeof(float)));
  const int grid = properties.multiProcessorCount * 8;
  const auto rate = [&](float4* data, bool write) {
    return median_gb_per_s(bytes, [&] {
      if (write) {
        write_all<<<grid, 256>>>(data, count);
      } else {
        read_all<<<grid, 256>>>(data, count, sink);
      }
    });
  };
  for (const auto& [name, data] : {std::pair{"zero copy", host}, std::pair{"device memory", device}}) {
    const double write = rate(data, true);
    std::printf("%s: write %.2f GB/s, read %.2f GB/s\n", name, write, rate(data, false));
  }
  return 0;
}
