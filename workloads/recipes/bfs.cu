// SPDX-License-Identifier: Apache-2.0
// Breadth-first search on an R-MAT graph from its busiest vertex, one warp per vertex of the frontier:
// bfs [SCALE [EDGES_PER_VERTEX]]
#include <vector>

#include "cuda_check.h"
#include "rmat_graph.h"

namespace {
constexpr unsigned kThreads = 256;
constexpr std::uint32_t kUnseen = ~std::uint32_t{0};

__global__ void expand(const std::uint64_t* first_edge, const std::uint32_t* neighbour, std::uint32_t* level,
                       const std::uint32_t* frontier, std::uint32_t frontier_size, std::uint32_t* next,
                       std::uint32_t* next_size, std::uint32_t depth) {
  const std::uint32_t slot = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (slot >= frontier_size) return;
  const std::uint32_t v = frontier[slot];
  for (std::uint64_t e = first_edge[v] + threadIdx.x % 32; e < first_edge[v + std::size_t{1}]; e += 32) {
    const std::uint32_t to = neighbour[e];
    if (level[to] == kUnseen && atomicCAS(&level[to], kUnseen, depth) == kUnseen) next[atomicAdd(next_size, 1U)] = to;
  }
}
}  // namespace

int main(int argc, char** argv) {
  const auto scale = static_cast<unsigned>(argument_or(argc, argv, 1, 23));
  const auto edges_per_vertex = static_cast<unsigned>(argument_or(argc, argv, 2, 16));
  if (scale > 28) return std::fprintf(stderr, "scale %u is too large; allowed: 1 to 28\n", scale), 1;
  const Graph graph = make_rmat_graph(scale, edges_per_vertex);
  const std::uint32_t source = busiest_vertex(graph);

  auto* first_edge = device_array<std::uint64_t>(graph.first_edge.size());
  auto* neighbour = device_array<std::uint32_t>(graph.neighbour.size());
  auto* level = device_array<std::uint32_t>(graph.vertices);
  auto* frontier = device_array<std::uint32_t>(graph.vertices);
  auto* next = device_array<std::uint32_t>(graph.vertices);
  auto* next_size = device_array<std::uint32_t>(1);
  CUDA_CHECK(cudaMemcpy(first_edge, graph.first_edge.data(), graph.first_edge.size() * 8, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(neighbour, graph.neighbour.data(), graph.neighbour.size() * 4, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemset(level, 0xff, graph.vertices * std::size_t{4}));
  const std::uint32_t zero = 0;
  CUDA_CHECK(cudaMemcpy(level + source, &zero, 4, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(frontier, &source, 4, cudaMemcpyHostToDevice));

  std::uint64_t reached = 1;
  std::printf("depth 0: 1 vertex (%u)\n", source);
  for (std::uint32_t depth = 1, size = 1; size != 0; ++depth) {
    CUDA_CHECK(cudaMemset(next_size, 0, 4));
    const std::uint32_t per_block = kThreads / 32;
    expand<<<(size + per_block - 1) / per_block, kThreads>>>(first_edge, neighbour, level, frontier, size, next,
                                                             next_size, depth);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy(&size, next_size, 4, cudaMemcpyDeviceToHost));
    std::swap(frontier, next);
    reached += size;
    std::printf("depth %u: %u vertices\n", depth, size);
  }

  std::vector<std::uint32_t> result(graph.vertices);
  CUDA_CHECK(cudaMemcpy(result.data(), level, result.size() * 4, cudaMemcpyDeviceToHost));
  // Every edge joins neighbouring levels, or two vertices that were not reached.
  std::uint64_t wrong = 0;
  for (std::uint32_t v = 0; v < graph.vertices; ++v) {
    for (std::uint64_t e = graph.first_edge[v]; e < graph.first_edge[v + std::size_t{1}]; ++e) {
      const std::uint32_t other = result[graph.neighbour[e]];
      if ((result[v] == kUnseen) != (other == kUnseen) || (other != kUnseen && other > result[v] + 1)) ++wrong;
    }
  }
  std::printf("%llu of %u vertices reached, %llu wrong edges\n", static_cast<unsigned long long>(reached),
              graph.vertices, static_cast<unsigned long long>(wrong));
  for (void* array : {static_cast<void*>(first_edge), static_cast<void*>(neighbour), static_cast<void*>(level),
                      static_cast<void*>(frontier), static_cast<void*>(next), static_cast<void*>(next_size)}) {
    CUDA_CHECK(cudaFree(array));
  }
  return wrong == 0 ? 0 : 1;
}
