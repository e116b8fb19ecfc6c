// SPDX-License-Identifier: Apache-2.0
// An undirected R-MAT graph (Graph500's quadrant probabilities 0.57, 0.19, 0.19, 0.05) in compressed sparse rows, made
// on the host. The same arguments give the same graph, whatever the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

struct Graph {
  std::uint32_t vertices = 0;
  std::vector<std::uint64_t> first_edge;  // vertices + 1
  std::vector<std::uint32_t> neighbour;   // ascending within a vertex; every edge appears at both its ends
};

namespace rmat {

// SplitMix64: a well-mixed number for every counter.
inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

struct Edge {
  std::uint32_t from, to;
};

// One quadrant per level, 16 random bits each. Vertex numbers are scrambled by an odd factor, or else low numbers would
// be the hubs.
inline Edge edge(std::uint64_t index, unsigned scale) {
  std::uint32_t from = 0, to = 0;
  std::uint64_t bits = 0;
  for (unsigned level = 0; level < scale; ++level, bits >>= 16) {
    if (level % 4 == 0) bits = mix(index * 8 + level / 4);
    const std::uint64_t percent = (bits & 0xffff) * 100 >> 16;
    from = from << 1 | static_cast<std::uint32_t>(percent >= 76);
    to = to << 1 | static_cast<std::uint32_t>((percent >= 57 && percent < 76) || percent >= 95);
  }
  const std::uint32_t mask = (std::uint32_t{1} << scale) - 1;
  return {from * 0x9e3779b1U & mask, to * 0x9e3779b1U & mask};
}

template <typename Work>  // work(begin, end)
void in_parallel(std::uint64_t count, const Work& work) {
  const std::uint64_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> pool;
  for (std::uint64_t t = 0; t < threads; ++t) pool.emplace_back(work, count * t / threads, count * (t + 1) / threads);
  for (std::thread& thread : pool) thread.join();
}

}  // namespace rmat

inline Graph make_rmat_graph(unsigned scale, unsigned edges_per_vertex) {
  Graph graph;
  graph.vertices = std::uint32_t{1} << scale;
  const std::uint64_t edges = static_cast<std::uint64_t>(graph.vertices) * edges_per_vertex;
  const auto cursor = std::make_unique<std::atomic<std::uint64_t>[]>(graph.vertices);
  rmat::in_parallel(edges, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      const rmat::Edge e = rmat::edge(i, scale);
      cursor[e.from].fetch_add(1, std::memory_order_relaxed);
      cursor[e.to].fetch_add(1, std::memory_order_relaxed);
    }
  });
  graph.first_edge.resize(graph.vertices + std::size_t{1});
  for (std::uint32_t v = 0; v < graph.vertices; ++v) {
    graph.first_edge[v + std::size_t{1}] = graph.first_edge[v] + cursor[v].load();
    cursor[v] = graph.first_edge[v];
  }
  graph.neighbour.resize(graph.first_edge.back());
  rmat::in_parallel(edges, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      const rmat::Edge e = rmat::edge(i, scale);
      graph.neighbour[cursor[e.from].fetch_add(1, std::memory_order_relaxed)] = e.to;
      graph.neighbour[cursor[e.to].fetch_add(1, std::memory_order_relaxed)] = e.from;
    }
  });
  // Threads fill a row in any order.
  rmat::in_parallel(graph.vertices, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t v = begin; v < end; ++v) {
      std::sort(graph.neighbour.begin() + static_cast<std::ptrdiff_t>(graph.first_edge[v]),
                graph.neighbour.begin() + static_cast<std::ptrdiff_t>(graph.first_edge[v + 1]));
    }
  });
  return graph;
}

inline std::uint32_t busiest_vertex(const Graph& graph) {
  std::uint32_t best = 0;
  const auto degree = [&](std::uint32_t v) { return graph.first_edge[v + std::size_t{1}] - graph.first_edge[v]; };
  for (std::uint32_t v = 1; v < graph.vertices; ++v) {
    if (degree(v) > degree(best)) best = v;
  }
  return best;
}
