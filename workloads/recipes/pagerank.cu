// SPDX-License-Identifier: Apache-2.0
// PageRank on an R-MAT graph, pulling along edges, one warp per vertex: pagerank [SCALE [EDGES_PER_VERTEX
// [ITERATIONS]]]
#include <vector>

#include "cuda_check.h"
#include "rmat_graph.h"

namespace {
constexpr float kDamping = 0.85F;
constexpr unsigned kThreads = 256;

// What every vertex gives to each of its neighbours.
__global__ void share(const std::uint64_t* first_edge, const float* rank, float* given, std::uint32_t vertices) {
  const std::uint32_t v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= vertices) return;
  const std::uint64_t degree = first_edge[v + std::size_t{1}] - first_edge[v];
  given[v] = degree == 0 ? 0.0F : rank[v] / static_cast<float>(degree);
}

__global__ void gather(const std::uint64_t* first_edge, const std::uint32_t* neighbour, const float* given, float* rank,
                       std::uint32_t vertices) {
  const std::uint32_t v = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const unsigned lane = threadIdx.x % 32;
  if (v >= vertices) return;
  float sum = 0;
  for (std::uint64_t e = first_edge[v] + lane; e < first_edge[v + std::size_t{1}]; e += 32) sum += given[neighbour[e]];
  for (unsigned step = 16; step != 0; step /= 2) sum += __shfl_xor_sync(~0U, sum, step);
  if (lane == 0) rank[v] = (1 - kDamping) / static_cast<float>(vertices) + kDamping * sum;
}
}  // namespace

int main(int argc, char** argv) {
  const auto scale = static_cast<unsigned>(argument_or(argc, argv, 1, 23));
  const auto edges_per_vertex = static_cast<unsigned>(argument_or(argc, argv, 2, 16));
  const unsigned long iterations = argument_or(argc, argv, 3, 4);
  if (scale > 28) return std::fprintf(stderr, "scale %u is too large; allowed: 1 to 28\n", scale), 1;
  const Graph graph = make_rmat_graph(scale, edges_per_vertex);

  auto* first_edge = device_array<std::uint64_t>(graph.first_edge.size());
  auto* neighbour = device_array<std::uint32_t>(graph.neighbour.size());
  auto* rank = device_array<float>(graph.vertices);
  auto* given = device_array<float>(graph.vertices);
  std::vector<float> result(graph.vertices, 1.0F / static_cast<float>(graph.vertices));
  CUDA_CHECK(cudaMemcpy(first_edge, graph.first_edge.data(), graph.first_edge.size() * 8, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(neighbour, graph.neighbour.data(), graph.neighbour.size() * 4, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(rank, result.data(), result.size() * 4, cudaMemcpyHostToDevice));
  const std::uint32_t per_warp_blocks = (graph.vertices + kThreads / 32 - 1) / (kThreads / 32);
  for (unsigned long i = 0; i < iterations; ++i) {
    share<<<(graph.vertices + kThreads - 1) / kThreads, kThreads>>>(first_edge, rank, given, graph.vertices);
    gather<<<per_warp_blocks, kThreads>>>(first_edge, neighbour, given, rank, graph.vertices);
    CUDA_CHECK(cudaGetLastError());
  }
  CUDA_CHECK(cudaMemcpy(result.data(), rank, result.size() * 4, cudaMemcpyDeviceToHost));

  double sum = 0;
  for (const float r : result) sum += r;
  const auto top = static_cast<std::uint32_t>(std::max_element(result.begin(), result.end()) - result.begin());
  std::printf("%u vertices, %zu edge ends: rank sum %.9f, highest %.9e at vertex %u (degree %llu)\n", graph.vertices,
              graph.neighbour.size(), sum, result[top], top,
              static_cast<unsigned long long>(graph.first_edge[top + std::size_t{1}] - graph.first_edge[top]));
  for (void* array : {static_cast<void*>(first_edge), static_cast<void*>(neighbour), static_cast<void*>(rank),
                      static_cast<void*>(given)}) {
    CUDA_CHECK(cudaFree(array));
  }
  return sum > 0 && sum < 1.001 ? 0 : 1;
}
