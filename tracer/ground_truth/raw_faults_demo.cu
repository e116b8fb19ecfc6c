// SPDX-License-Identifier: Apache-2.0
// A program for `uvmtrace faults` to record: the GPU writes 32 MB of managed memory, the host reads them, and the GPU
// doubles them. raw_faults_smoke.sh runs it.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr unsigned long long kCount = 8 << 20;

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "raw_faults_demo: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

__global__ void fill(float* data) {
  for (unsigned long long i = blockIdx.x * 1ull * blockDim.x + threadIdx.x; i < kCount; i += gridDim.x * 1ull * blockDim.x) {
    data[i] = 1;
  }
}

__global__ void twice(float* data) {
  for (unsigned long long i = blockIdx.x * 1ull * blockDim.x + threadIdx.x; i < kCount; i += gridDim.x * 1ull * blockDim.x) {
    data[i] *= 2;
  }
}

}  // namespace

int main() {
  float* data = nullptr;
  check(cudaMallocManaged(&data, kCount * sizeof(float)), "cudaMallocManaged");
  fill<<<528, 256>>>(data);
  check(cudaDeviceSynchronize(), "fill");
  double sum = 0;
  for (unsigned long long i = 0; i < kCount; ++i) sum += data[i];
  twice<<<528, 256>>>(data);
  check(cudaDeviceSynchronize(), "twice");
  std::printf("%.0f %.0f\n", sum, static_cast<double>(data[kCount - 1]));
  check(cudaFree(data), "cudaFree");
  return 0;
}
