// SPDX-License-Identifier: Apache-2.0
// C = A B in single precision with tiles in shared memory, A of M x K, B of K x N: tiled_matmul [M [N [K]]]
#include <vector>

#include "cuda_check.h"

namespace {
constexpr unsigned kTile = 32;

__global__ void fill(float* matrix, std::size_t count, unsigned factor) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    matrix[i] = static_cast<float>(i % 8 * factor % 5) - 2;
  }
}

// M, N and K are multiples of the tile.
__global__ void multiply(const float* a, const float* b, float* c, unsigned n, unsigned k) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const std::size_t row = blockIdx.y * kTile + threadIdx.y;
  const std::size_t column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (unsigned begin = 0; begin < k; begin += kTile) {
    tile_a[threadIdx.y][threadIdx.x] = a[row * k + begin + threadIdx.x];
    tile_b[threadIdx.y][threadIdx.x] = b[(begin + threadIdx.y) * std::size_t{n} + column];
    __syncthreads();
    for (unsigned i = 0; i < kTile; ++i) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
}  // namespace

int main(int argc, char** argv) {
  const auto m = static_cast<unsigned>(argument_or(argc, argv, 1, 12288));
  const auto n = static_cast<unsigned>(argument_or(argc, argv, 2, 12288));
  const auto k = static_cast<unsigned>(argument_or(argc, argv, 3, 4096));
  if (m % kTile != 0 || n % kTile != 0 || k % kTile != 0 || m / kTile > 65535) {
    return std::fprintf(stderr, "M, N and K must be multiples of %u, M at most %u\n", kTile, 65535 * kTile), 1;
  }
  auto* a = device_array<float>(std::size_t{m} * k);
  auto* b = device_array<float>(std::size_t{k} * n);
  auto* c = device_array<float>(std::size_t{m} * n);
  fill<<<1056, 256>>>(a, std::size_t{m} * k, 3);
  fill<<<1056, 256>>>(b, std::size_t{k} * n, 7);
  multiply<<<dim3(n / kTile, m / kTile), dim3(kTile, kTile)>>>(a, b, c, n, k);
  CUDA_CHECK(cudaGetLastError());
  std::vector<float> last_row(n);
  CUDA_CHECK(cudaMemcpy(last_row.data(), c + std::size_t{m - 1} * n, n * sizeof(float), cudaMemcpyDeviceToHost));

  // Small whole numbers: every sum is exact in float, and the host knows it.
  const auto element = [](std::size_t i, unsigned factor) { return static_cast<long>(i % 8 * factor % 5) - 2; };
  unsigned wrong = 0;
  for (unsigned column = 0; column < n; column += 97) {
    long expected = 0;
    for (unsigned i = 0; i < k; ++i) {
      expected += element(std::size_t{m - 1} * k + i, 3) * element(std::size_t{i} * n + column, 7);
    }
    if (static_cast<float>(expected) != last_row[column]) ++wrong;
  }
  std::printf("%u x %u x %u: last element %.1f, %u wrong\n", m, n, k, last_row.back(), wrong);
  for (float* matrix : {a, b, c}) CUDA_CHECK(cudaFree(matrix));
  return wrong == 0 ? 0 : 1;
}
