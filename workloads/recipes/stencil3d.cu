// SPDX-License-Identifier: Apache-2.0
// Jacobi steps of a 7-point stencil on an N x N x N grid of floats, two copies of the grid: stencil3d [N [STEPS]]
#include <cmath>
#include <vector>

#include "cuda_check.h"

namespace {
constexpr unsigned kBlockX = 64, kBlockY = 4;

// A block walks a column of the grid along z; the halo is what its neighbours write in the same step.
__global__ void step(const float* from, float* to, unsigned n) {
  const unsigned x = blockIdx.x * kBlockX + threadIdx.x;
  const unsigned y = blockIdx.y * kBlockY + threadIdx.y;
  if (x == 0 || y == 0 || x >= n - 1 || y >= n - 1) return;
  const std::size_t plane = std::size_t{n} * n;
  std::size_t i = plane + std::size_t{y} * n + x;
  for (unsigned z = 1; z < n - 1; ++z, i += plane) {
    to[i] = (from[i - 1] + from[i + 1] + from[i - n] + from[i + n] + from[i - plane] + from[i + plane]) / 6;
  }
}

__global__ void fill(float* grid, std::size_t count, float value) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    grid[i] = value;
  }
}
}  // namespace

int main(int argc, char** argv) {
  const auto n = static_cast<unsigned>(argument_or(argc, argv, 1, 640));
  const unsigned long steps = argument_or(argc, argv, 2, 10);
  if (n < 3 || n > 2048) return std::fprintf(stderr, "N is %u; allowed: 3 to 2048\n", n), 1;
  const std::size_t count = std::size_t{n} * n * n;
  const std::size_t plane = std::size_t{n} * n;

  auto* from = device_array<float>(count);
  auto* to = device_array<float>(count);
  // Heat enters at the plane z = 0, which stays at 1.
  for (float* grid : {from, to}) {
    fill<<<1056, 256>>>(grid, count, 0.0F);
    fill<<<132, 256>>>(grid, plane, 1.0F);
  }
  const dim3 blocks((n + kBlockX - 1) / kBlockX, (n + kBlockY - 1) / kBlockY);
  for (unsigned long s = 0; s < steps; ++s) {
    step<<<blocks, dim3(kBlockX, kBlockY)>>>(from, to, n);
    CUDA_CHECK(cudaGetLastError());
    std::swap(from, to);
  }
  std::vector<float> layer(plane);
  CUDA_CHECK(cudaMemcpy(layer.data(), from + plane, plane * sizeof(float), cudaMemcpyDeviceToHost));
  double heat = 0;
  for (const float t : layer) heat += t;
  std::printf("%u^3 cells, %lu steps: heat in the first layer %.9f\n", n, steps, heat);
  CUDA_CHECK(cudaFree(from));
  CUDA_CHECK(cudaFree(to));
  return heat > 0 && heat < static_cast<double>(plane) ? 0 : 1;
}
