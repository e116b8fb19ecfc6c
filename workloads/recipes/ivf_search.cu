// SPDX-License-Identifier: Apache-2.0
// Vector search with an inverted file (IVF): the nearest of millions of vectors, looked for in the lists of the nearest
// centroids: ivf_search [VECTORS [LISTS [PROBES [BATCHES]]]]
//
// Lists have very different lengths. Each batch of queries compares them with all centroids, scans the vectors of the
// best lists and joins what was found; the host checks some answers.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "cuda_check.h"

namespace {
constexpr unsigned kWidth = 96;  // of a vector
constexpr unsigned kQueries = 512;
constexpr unsigned kBest = 10;
constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / 32;
constexpr float kFar = 3e38F;

__host__ __device__ inline std::uint32_t mix(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return static_cast<std::uint32_t>(x >> 32);
}
// From -1 to 1.
__host__ __device__ inline float noise(std::uint64_t x) { return static_cast<float>(mix(x) >> 8) / 8388608.0F - 1.0F; }
__host__ __device__ inline float centroid_value(std::uint64_t list, unsigned d) {
  return noise((list << 8 | d) + (1ULL << 60));
}

struct Found {
  float distance;
  std::uint32_t vector;
};

__global__ void make_vectors(const std::uint64_t* first, float* vectors) {
  const std::uint64_t list = blockIdx.x;
  for (std::uint64_t i = first[list] * kWidth + threadIdx.x; i < first[list + 1] * kWidth; i += blockDim.x) {
    vectors[i] = centroid_value(list, static_cast<unsigned>(i % kWidth)) + 0.5F * noise(i);
  }
}

// Index of the least value in the block's shared array; all threads get it.
__device__ unsigned least(const float* values, unsigned count) {
  __shared__ float best_value[kWarps];
  __shared__ unsigned best_index[kWarps];
  float value = kFar;
  unsigned index = 0;
  for (unsigned i = threadIdx.x; i < count; i += kThreads) {
    if (values[i] < value) value = values[i], index = i;
  }
  for (unsigned step = 16; step != 0; step /= 2) {
    const float other = __shfl_down_sync(~0U, value, step);
    const unsigned other_index = __shfl_down_sync(~0U, index, step);
    if (other < value) value = other, index = other_index;
  }
  if (threadIdx.x % 32 == 0) best_value[threadIdx.x / 32] = value, best_index[threadIdx.x / 32] = index;
  __syncthreads();
  unsigned warp = 0;
  for (unsigned w = 1; w < kWarps; ++w) {
    if (best_value[w] < best_value[warp]) warp = w;
  }
  const unsigned result = best_index[warp];
  __syncthreads();
  return result;
}

// A block per query: its nearest lists.
__global__ void choose_lists(const float* queries, const float* centroids, unsigned lists, unsigned probes,
                             std::uint32_t* chosen) {
  extern __shared__ float distance[];
  const float* const query = queries + std::size_t{blockIdx.x} * kWidth;
  for (unsigned list = threadIdx.x; list < lists; list += kThreads) {
    float sum = 0;
    for (unsigned d = 0; d < kWidth; ++d) {
      const float difference = query[d] - centroids[std::size_t{list} * kWidth + d];
      sum += difference * difference;
    }
    distance[list] = sum;
  }
  __syncthreads();
  for (unsigned p = 0; p < probes; ++p) {
    const unsigned list = least(distance, lists);
    if (threadIdx.x == 0) {
      chosen[blockIdx.x * probes + p] = list;
      distance[list] = kFar;
    }
    __syncthreads();
  }
}

// Keeps the best in order; by one thread.
__device__ __host__ inline void insert(Found* best, Found item) {
  if (item.distance >= best[kBest - 1].distance) return;
  unsigned at = kBest - 1;
  for (; at > 0 && best[at - 1].distance > item.distance; --at) best[at] = best[at - 1];
  best[at] = item;
}

// A block per query and list, a warp per vector.
__global__ void scan_lists(const float* queries, const float* vectors, const std::uint64_t* first,
                           const std::uint32_t* chosen, unsigned probes, Found* found) {
  __shared__ float query[kWidth];
  __shared__ Found best[kWarps][kBest];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x < kWidth) query[threadIdx.x] = queries[std::size_t{blockIdx.y} * kWidth + threadIdx.x];
  if (threadIdx.x < kWarps * kBest) best[threadIdx.x / kBest][threadIdx.x % kBest] = {kFar, 0};
  __syncthreads();
  const std::uint32_t list = chosen[blockIdx.y * probes + blockIdx.x];
  for (std::uint64_t v = first[list] + warp; v < first[list + 1]; v += kWarps) {
    float sum = 0;
    for (unsigned d = lane; d < kWidth; d += 32) {
      const float difference = query[d] - vectors[v * kWidth + d];
      sum += difference * difference;
    }
    for (unsigned step = 16; step != 0; step /= 2) sum += __shfl_down_sync(~0U, sum, step);
    if (lane == 0) insert(best[warp], {sum, static_cast<std::uint32_t>(v)});
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned w = 1; w < kWarps; ++w) {
      for (const Found& item : best[w]) insert(best[0], item);
    }
    for (unsigned k = 0; k < kBest; ++k) found[(std::size_t{blockIdx.y} * probes + blockIdx.x) * kBest + k] = best[0][k];
  }
}

// A thread per query: the best of all its lists.
__global__ void join(const Found* found, unsigned probes, Found* answers) {
  const unsigned query = blockIdx.x * blockDim.x + threadIdx.x;
  if (query >= kQueries) return;
  Found best[kBest];
  for (Found& item : best) item = {kFar, 0};
  for (unsigned i = 0; i < probes * kBest; ++i) insert(best, found[std::size_t{query} * probes * kBest + i]);
  for (unsigned k = 0; k < kBest; ++k) answers[query * kBest + k] = best[k];
}
}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t wanted = argument_or(argc, argv, 1, 6'000'000);
  const auto lists = static_cast<unsigned>(argument_or(argc, argv, 2, 4096));
  const auto probes = static_cast<unsigned>(argument_or(argc, argv, 3, 8));
  const auto batches = static_cast<unsigned>(argument_or(argc, argv, 4, 6));
  if (lists > 8192 || probes > lists || wanted > 4'000'000'000UL) {
    return std::fprintf(stderr, "at most 8192 lists, as many probes as lists, 4 billion vectors\n"), 1;
  }
  // Lengths by a power law, at least one vector each.
  std::vector<double> weight(lists);
  double sum = 0;
  for (unsigned l = 0; l < lists; ++l) sum += weight[l] = std::pow(mix(l) / 4294967296.0 + 1e-4, -0.5);
  std::vector<std::uint64_t> first(lists + 1, 0);
  for (unsigned l = 0; l < lists; ++l) {
    first[l + 1] = first[l] + 1 + static_cast<std::uint64_t>(static_cast<double>(wanted) * weight[l] / sum);
  }
  std::vector<float> centroids(std::size_t{lists} * kWidth), queries(std::size_t{kQueries} * kWidth);
  for (unsigned l = 0; l < lists; ++l) {
    for (unsigned d = 0; d < kWidth; ++d) centroids[std::size_t{l} * kWidth + d] = centroid_value(l, d);
  }
  auto* device_first = device_array<std::uint64_t>(first.size());
  auto* device_centroids = device_array<float>(centroids.size());
  auto* vectors = device_array<float>(first[lists] * kWidth);
  auto* device_queries = device_array<float>(queries.size());
  auto* chosen = device_array<std::uint32_t>(std::size_t{kQueries} * probes);
  auto* found = device_array<Found>(std::size_t{kQueries} * probes * kBest);
  auto* answers = device_array<Found>(std::size_t{kQueries} * kBest);
  CUDA_CHECK(cudaMemcpy(device_first, first.data(), first.size() * 8, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(device_centroids, centroids.data(), centroids.size() * 4, cudaMemcpyHostToDevice));
  make_vectors<<<lists, kThreads>>>(device_first, vectors);

  std::vector<Found> host(std::size_t{kQueries} * kBest);
  unsigned near = 0;
  for (unsigned batch = 0; batch < batches; ++batch) {
    // Queries lie near a vector of a list; popular lists are asked for more often.
    for (unsigned q = 0; q < kQueries; ++q) {
      const std::uint64_t draw = mix(batch * 1000003ULL + q + (1ULL << 40));
      const std::uint64_t vector = draw * first[lists] >> 32;
      const auto list = static_cast<std::uint64_t>(std::upper_bound(first.begin(), first.end(), vector) - first.begin()) - 1;
      for (unsigned d = 0; d < kWidth; ++d) {
        const float member = centroid_value(list, d) + 0.5F * noise(vector * kWidth + d);
        queries[std::size_t{q} * kWidth + d] = member + 0.02F * noise(draw << 8 | d);
      }
      host[q].vector = static_cast<std::uint32_t>(vector);  // what should be found, until the answers come
    }
    std::vector<std::uint32_t> asked(kQueries);
    for (unsigned q = 0; q < kQueries; ++q) asked[q] = host[q].vector;
    CUDA_CHECK(cudaMemcpy(device_queries, queries.data(), queries.size() * 4, cudaMemcpyHostToDevice));
    choose_lists<<<kQueries, kThreads, lists * sizeof(float)>>>(device_queries, device_centroids, lists, probes, chosen);
    scan_lists<<<dim3(probes, kQueries), kThreads>>>(device_queries, vectors, device_first, chosen, probes, found);
    join<<<(kQueries + 127) / 128, 128>>>(found, probes, answers);
    CUDA_CHECK(cudaMemcpy(host.data(), answers, host.size() * sizeof(Found), cudaMemcpyDeviceToHost));
    for (unsigned q = 0; q < kQueries; ++q) {
      near += host[std::size_t{q} * kBest].vector == asked[q] ? 1 : 0;
      for (unsigned k = 1; k < kBest; ++k) {
        if (host[std::size_t{q} * kBest + k].distance < host[std::size_t{q} * kBest + k - 1].distance) {
          return std::fprintf(stderr, "query %u: answers are out of order\n", q), 1;
        }
      }
    }
  }
  CUDA_CHECK(cudaDeviceSynchronize());
  std::printf("%lu vectors of %u in %u lists; %u of %u queries found the vector they were made from\n",
              static_cast<unsigned long>(first[lists]), kWidth, lists, near, batches * kQueries);
  return near * 100 >= batches * kQueries * 95 ? 0 : 1;
}
