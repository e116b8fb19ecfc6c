// SPDX-License-Identifier: Apache-2.0
// Latency of dependent loads that each touch another 2 MB page, by number of pages: shows where a TLB level ends. The
// loads bypass L1, and every page contributes one 128-byte line at another offset, so the data stays in L2 and only
// the translation changes. The control touches the same number of lines within few pages. Not part of the build:
//   nvcc -O2 -arch=native tlb_chase.cu -o tlb_chase && ./tlb_chase
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#define CHECK(call)                                                        \
  do {                                                                     \
    const cudaError_t status = (call);                                     \
    if (status != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status)); \
      std::exit(1);                                                        \
    }                                                                      \
  } while (false)

__global__ void link_chain(char* base, const uint64_t* offsets, uint64_t count) {
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < count; i += uint64_t{gridDim.x} * blockDim.x) {
    *reinterpret_cast<uint64_t*>(base + offsets[i]) = offsets[(i + 1) % count];
  }
}

__global__ void chase(const char* base, uint64_t start, uint64_t steps, uint64_t* result) {
  uint64_t at = start;
  for (uint64_t i = 0; i < steps; ++i) {  // warms L2 and the TLBs
    at = __ldcg(reinterpret_cast<const unsigned long long*>(base + at));
  }
  const long long begin = clock64();
  for (uint64_t i = 0; i < steps; ++i) {
    at = __ldcg(reinterpret_cast<const unsigned long long*>(base + at));
  }
  result[0] = static_cast<uint64_t>(clock64() - begin);
  result[1] = at;
}

int main() {
  constexpr uint64_t kPage = uint64_t{2} << 20, kLine = 128;
  size_t free_bytes = 0, total_bytes = 0;
  CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  const uint64_t pages = (free_bytes - (size_t{2} << 30)) / kPage;
  char* base = nullptr;
  uint64_t *device_offsets = nullptr, *result = nullptr;
  CHECK(cudaMalloc(&base, pages * kPage));
  CHECK(cudaMalloc(&device_offsets, pages * sizeof(uint64_t)));
  CHECK(cudaMallocHost(&result, 2 * sizeof(uint64_t)));
  std::printf("pages cycles_one_line_per_2MB_page cycles_same_lines_dense\n");
  std::mt19937_64 random(1);
  std::vector<uint64_t> counts;
  for (uint64_t n = 4; n < pages; n *= 2) {
    counts.push_back(n);
    if (n >= 8 && n + n / 2 < pages) {
      counts.push_back(n + n / 2);
    }
  }
  counts.push_back(pages);
  for (const uint64_t n : counts) {
    double cycles[2];
    for (int dense = 0; dense < 2; ++dense) {
      std::vector<uint64_t> order(n), offsets(n);
      std::iota(order.begin(), order.end(), uint64_t{0});
      for (uint64_t i = n - 1; i > 0; --i) {
        std::swap(order[i], order[random() % (i + 1)]);
      }
      for (uint64_t i = 0; i < n; ++i) {
        const uint64_t line = order[i];
        offsets[i] = dense != 0 ? line * kLine : line * kPage + (line * 37 % (kPage / kLine)) * kLine;
      }
      CHECK(cudaMemcpy(device_offsets, offsets.data(), n * sizeof(uint64_t), cudaMemcpyHostToDevice));
      link_chain<<<64, 256>>>(base, device_offsets, n);
      chase<<<1, 1>>>(base, offsets[0], n * ((65535 + n) / n), result);
      CHECK(cudaGetLastError());
      CHECK(cudaDeviceSynchronize());
      cycles[dense] = static_cast<double>(result[0]) / static_cast<double>(n * ((65535 + n) / n));
    }
    std::printf("%6llu %8.1f %8.1f\n", static_cast<unsigned long long>(n), cycles[0], cycles[1]);
  }
  return 0;
}
