// SPDX-License-Identifier: Apache-2.0
// Times kernels that gather and scatter embedding rows by random ids: table in device memory, in host memory read
// through remote mappings (managed, preferred location host, accessed by the GPU), in host memory that faults over
// (managed, no hints). Also the sort and unique that a software cache of rows runs per batch. Not part of the build:
//   nvcc -O2 -std=c++17 -arch=native row_gather.cu -o row_gather && ./row_gather
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cub/cub.cuh>
#include <string>
#include <thread>
#include <vector>

#define CHECK(call)                                                                         \
  do {                                                                                      \
    const cudaError_t status = (call);                                                      \
    if (status != cudaSuccess) {                                                            \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));                  \
      std::exit(1);                                                                         \
    }                                                                                       \
  } while (false)

#if CUDART_VERSION >= 13000
static cudaMemLocation host_location() { return {cudaMemLocationTypeHost, 0}; }
static cudaMemLocation gpu_location() { return {cudaMemLocationTypeDevice, 0}; }
#else
static int host_location() { return cudaCpuDeviceId; }
static int gpu_location() { return 0; }
#endif

enum Mode { kRead, kWrite, kUpdate, kSwap };

// Groups of lanes of 16 bytes each work on one row; a warp of 32 lanes on one row of 512 bytes.
template <int mode>
__global__ void rows(float4* table, const uint64_t* ids, uint64_t count, unsigned row_float4, float* sink) {
  const unsigned lanes = row_float4 < 32 ? row_float4 : 32;
  const uint64_t thread = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x;
  const uint64_t groups = gridDim.x * uint64_t{blockDim.x} / lanes;
  float sum = 0;
  for (uint64_t i = thread / lanes; i < count; i += groups) {
    for (unsigned part = thread % lanes; part < row_float4; part += lanes) {
      float4* at = table + ids[i] * row_float4 + part;
      if (mode == kWrite) {
        *at = make_float4(1, 2, 3, 4);
      } else {
        float4 value = *at;
        sum += value.x + value.y + value.z + value.w;
        if (mode == kUpdate) {
          value.x += 1;
          *at = value;
        }
        if (mode == kSwap) table[ids[count - 1 - i] * row_float4 + part] = value;
      }
    }
  }
  if (sum == -1.0f) *sink = sum;
}

static uint64_t mix(uint64_t z) {  // SplitMix64
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static float* sink;
static unsigned blocks = 132 * 8;
static uint64_t* device_ids;
constexpr uint64_t kMaxIds = 4u << 20;

static double time_ms(int mode, void* table, uint64_t count, unsigned row_bytes) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const unsigned grid = blocks, block = 256, f4 = row_bytes / 16;
  auto* t = static_cast<float4*>(table);
  CHECK(cudaEventRecord(begin));
  if (mode == kRead) rows<kRead><<<grid, block>>>(t, device_ids, count, f4, sink);
  if (mode == kWrite) rows<kWrite><<<grid, block>>>(t, device_ids, count, f4, sink);
  if (mode == kUpdate) rows<kUpdate><<<grid, block>>>(t, device_ids, count, f4, sink);
  if (mode == kSwap) rows<kSwap><<<grid, block>>>(t, device_ids, count, f4, sink);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  return ms;
}

// Ids that repeat only by chance, a new set per repeat: nothing is in the caches but what the kernel itself brought.
static double median_ms(int mode, void* table, uint64_t table_rows, uint64_t count, unsigned row_bytes, uint64_t hot) {
  std::vector<uint64_t> ids(count);
  std::vector<double> times;
  for (int repeat = 0; repeat < 5; ++repeat) {
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t draw = mix(repeat * count + i);
      ids[i] = hot == 0 ? draw % table_rows : mix((draw % hot) + 977 * (repeat + 1)) % table_rows;
    }
    CHECK(cudaMemcpy(device_ids, ids.data(), count * 8, cudaMemcpyHostToDevice));
    times.push_back(time_ms(mode, table, count, row_bytes));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

static void fill_on_host(void* data, uint64_t bytes) {
  std::vector<std::thread> threads;
  const uint64_t part = bytes / 16;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([=] { std::memset(static_cast<char*>(data) + i * part, 1, part); });
  }
  for (auto& thread : threads) thread.join();
}

static void* managed(uint64_t bytes, bool hints) {
  void* data = nullptr;
  CHECK(cudaMallocManaged(&data, bytes));
  if (hints) CHECK(cudaMemAdvise(data, bytes, cudaMemAdviseSetPreferredLocation, host_location()));
  fill_on_host(data, bytes);
  if (hints) CHECK(cudaMemAdvise(data, bytes, cudaMemAdviseSetAccessedBy, gpu_location()));
  return data;
}

static const char* kModes[] = {"read", "write", "update", "swap"};

int main() {
  CHECK(cudaMalloc(&sink, 4));
  CHECK(cudaMalloc(&device_ids, kMaxIds * 8));
  const uint64_t gib = uint64_t{1} << 30;
  for (const uint64_t size : {gib, 8 * gib, 32 * gib}) {
    void* remote = managed(size, true);
    void* local = nullptr;
    CHECK(cudaMalloc(&local, size));
    CHECK(cudaMemset(local, 1, size));
    for (const unsigned row : {32u, 64u, 128u, 256u, 512u, 1024u, 4096u}) {
      if (size != 8 * gib && row != 512 && row != 64) continue;
      for (int mode = kRead; mode <= kSwap; ++mode) {
        const uint64_t count = std::min<uint64_t>(1u << 20, (512u << 20) / row);
        const double far = median_ms(mode, remote, size / row, count, row, 0);
        const double near = median_ms(mode, local, size / row, count, row, 0);
        std::printf("rows %s: table %llu GiB, row %u bytes, %llu rows: host %.4f ms (%.2f GB/s), device %.4f ms (%.1f GB/s)\n",
                    kModes[mode], (unsigned long long)(size / gib), row, (unsigned long long)count, far,
                    count * row / far / 1e6, near, count * row / near / 1e6);
      }
    }
    if (size == 8 * gib) {
      for (const uint64_t hot : {1000u, 10000u, 30000u, 60000u, 100000u, 200000u, 400000u}) {
        for (const int mode : {kRead, kUpdate}) {
          const double far = median_ms(mode, remote, size / 512, 1u << 20, 512, hot);
          std::printf("repeats %s: %llu different rows of 512 bytes, 1048576 lookups: host %.4f ms\n", kModes[mode],
                      (unsigned long long)hot, far);
        }
      }
      for (const uint64_t count : {1000u, 4000u, 16000u, 64000u, 256000u}) {
        std::printf("few read: %llu rows of 512 bytes: host %.4f ms, device %.4f ms\n", (unsigned long long)count,
                    median_ms(kRead, remote, size / 512, count, 512, 0),
                    median_ms(kRead, local, size / 512, count, 512, 0));
      }
    }
    CHECK(cudaFree(local));
    CHECK(cudaFree(remote));
  }
  {
    // Fewer thread blocks, as FBGEMM's fetch ahead has them: one eighth.
    void* remote = managed(8 * gib, true);
    for (const unsigned part : {1u, 2u, 4u, 8u, 16u, 32u}) {
      blocks = 132 * 8 / part;
      for (const int mode : {kRead, kSwap}) {
        std::printf("blocks %s: %u thread blocks, 262144 rows of 512 bytes: host %.4f ms\n", kModes[mode], blocks,
                    median_ms(mode, remote, 8 * gib / 512, 1u << 18, 512, 0));
      }
    }
    blocks = 132 * 8;
    CHECK(cudaFree(remote));
  }
  // No hints: every batch faults in what it does not find; ids mix(batch * count + i) % rows.
  for (const uint64_t size : {2 * gib, 16 * gib}) {
    void* table = managed(size, false);
    const uint64_t table_rows = size / 512, count = 20000;
    std::vector<uint64_t> ids(count);
    for (uint64_t batch = 0; batch < 5; ++batch) {
      for (uint64_t i = 0; i < count; ++i) ids[i] = mix(batch * count + i) % table_rows;
      CHECK(cudaMemcpy(device_ids, ids.data(), count * 8, cudaMemcpyHostToDevice));
      std::printf("faults read: table %llu GiB, batch %llu of %llu rows of 512 bytes: %.3f ms\n",
                  (unsigned long long)(size / gib), (unsigned long long)batch, (unsigned long long)count,
                  time_ms(kRead, table, count, 512));
    }
    CHECK(cudaFree(table));
  }
  for (const uint64_t count : {50000u, 200000u, 800000u, 2000000u}) {
    uint64_t *in, *out;
    int* found;
    CHECK(cudaMalloc(&in, count * 8));
    CHECK(cudaMalloc(&out, count * 8));
    CHECK(cudaMalloc(&found, 4));
    std::vector<uint64_t> ids(count);
    for (uint64_t i = 0; i < count; ++i) ids[i] = mix(i) % 178000000;
    CHECK(cudaMemcpy(in, ids.data(), count * 8, cudaMemcpyHostToDevice));
    size_t sort_bytes = 0, unique_bytes = 0;
    CHECK(cub::DeviceRadixSort::SortKeys(nullptr, sort_bytes, in, out, (int)count, 0, 33));
    CHECK(cub::DeviceRunLengthEncode::Encode(nullptr, unique_bytes, out, in, (int*)in, found, (int)count));
    void* space;
    int* lengths;
    CHECK(cudaMalloc(&lengths, count * 4));
    CHECK(cudaMalloc(&space, std::max(sort_bytes, unique_bytes)));
    cudaEvent_t begin, middle, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&middle));
    CHECK(cudaEventCreate(&end));
    std::vector<float> sorts, uniques;
    for (int repeat = 0; repeat < 9; ++repeat) {
      CHECK(cudaMemcpy(in, ids.data(), count * 8, cudaMemcpyHostToDevice));
      CHECK(cudaEventRecord(begin));
      CHECK(cub::DeviceRadixSort::SortKeys(space, sort_bytes, in, out, (int)count, 0, 33));
      CHECK(cudaEventRecord(middle));
      CHECK(cub::DeviceRunLengthEncode::Encode(space, unique_bytes, out, in, lengths, found, (int)count));
      CHECK(cudaEventRecord(end));
      CHECK(cudaEventSynchronize(end));
      float sort = 0, unique = 0;
      CHECK(cudaEventElapsedTime(&sort, begin, middle));
      CHECK(cudaEventElapsedTime(&unique, middle, end));
      sorts.push_back(sort);
      uniques.push_back(unique);
    }
    std::sort(sorts.begin(), sorts.end());
    std::sort(uniques.begin(), uniques.end());
    std::printf("unique of %llu ids of 64 bits: sort %.4f ms, run lengths %.4f ms\n", (unsigned long long)count,
                sorts[4], uniques[4]);
  }
  return 0;
}
