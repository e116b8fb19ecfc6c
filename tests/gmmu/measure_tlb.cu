// SPDX-License-Identifier: Apache-2.0
// Measures the capacity of a GPU's TLBs and the cost of their misses, with 2 MB, 64 KB and 4 KB entries. Prints the
// table in h200_tlb.txt. Not part of the build:  nvcc -O3 -arch=native -o measure_tlb measure_tlb.cu && ./measure_tlb
//
// Latency: one thread chases pointers through one random cache line per page. Loads bypass the L1 data cache, which is
// indexed by virtual address and so hides translation, and the lines fit the L2 data cache. Residency forces the entry
// size: cudaMemPrefetchAsync of a part of every 2 MB block (64 KB entries) or of every 64 KB (4 KB entries).
// Throughput: all SMs read random lines, or stream, over the same memory.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

using u64 = unsigned long long;

#define CHECK(call)                                                                      \
  do {                                                                                   \
    const cudaError_t error = (call);                                                    \
    if (error != cudaSuccess) {                                                          \
      std::printf("%s: line %d: %s\n", #call, __LINE__, cudaGetErrorString(error));      \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

constexpr u64 kKiB = 1024, kMiB = kKiB * kKiB, kGiB = kKiB * kMiB;

// Memory of which `resident` bytes of every `stride` bytes from `base` on are on the GPU; byte r of these is at
// address(r).
struct Memory {
  const char* name;
  char* base;
  u64 resident, stride;
};
__host__ __device__ inline u64 address(const Memory& m, u64 r) { return r / m.resident * m.stride + r % m.resident; }

__device__ inline u64 load_past_l1(const u64* p) {
  u64 v;
  asm volatile("ld.global.cg.u64 %0,[%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}

// Rings of `n` offsets each: every line points to the next.
__global__ void link_rings(char* base, const u64* offsets, u64 n, u64 rings) {
  for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < n * rings; i += gridDim.x * blockDim.x) {
    const u64 next = i % n + 1 == n ? i + 1 - n : i + 1;
    *reinterpret_cast<u64*>(base + offsets[i]) = reinterpret_cast<u64>(base + offsets[next]);
  }
}

__global__ void chase(const char* base, const u64* offsets, u64 n, u64* cycles) {
  u64 p = reinterpret_cast<u64>(base + offsets[blockIdx.x * n]);
  for (u64 i = 0; i < n; ++i) p = load_past_l1(reinterpret_cast<const u64*>(p));
  const u64 rounds = n < 4096 ? 4096 / n : 1;
  const u64 start = clock64();
  for (u64 i = 0; i < n * rounds; ++i) p = load_past_l1(reinterpret_cast<const u64*>(p));
  const u64 end = clock64();
  cycles[blockIdx.x] = (end - start) / rounds + (p == 0);
}

__global__ void read_random(Memory m, u64 lines, unsigned per_thread, u64 seed, u64* sink) {
  u64 x = (blockIdx.x * blockDim.x + threadIdx.x + seed) * 0x9e3779b97f4a7c15ull, sum = 0;
#pragma unroll 8
  for (unsigned k = 0; k < per_thread; ++k) {
    u64 z = (x += 0x9e3779b97f4a7c15ull * 0x10001);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    sum += load_past_l1(reinterpret_cast<u64*>(m.base + address(m, __umul64hi(z ^ (z >> 31), lines) * 128)));
  }
  if (sum == 42) *sink = sum;
}

__global__ void read_all(Memory m, u64 bytes, u64* sink) {
  float sum = 0;
  for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < bytes / 16; i += u64{gridDim.x} * blockDim.x) {
    const float4 v = *reinterpret_cast<float4*>(m.base + address(m, i * 16));
    sum += v.x + v.y + v.z + v.w;
  }
  if (sum == 42.f) *sink = 1;
}

__global__ void zero(Memory m, u64 bytes) {
  for (u64 i = (blockIdx.x * blockDim.x + threadIdx.x) * u64{16}; i < bytes; i += u64{gridDim.x} * blockDim.x * 16) {
    *reinterpret_cast<float4*>(m.base + address(m, i)) = make_float4(0, 0, 0, 0);
  }
}

u64* device_offsets;
u64* device_cycles;
constexpr u64 kMaxOffsets = 1 << 20;
int sms;

// `rings` SMs at once, each with its own `pages` pages of `page` bytes, neighbours in memory.
void measure_chase(const Memory& m, u64 page, u64 pages, bool random, u64 rings = 1) {
  if (pages * rings > kMaxOffsets) return;
  std::mt19937_64 generator(1);
  std::vector<u64> offsets(pages * rings);
  for (u64 i = 0; i < offsets.size(); ++i) offsets[i] = address(m, i * page) + generator() % (page / 128) * 128;
  if (random) {
    for (u64 r = 0; r < rings; ++r) {
      std::shuffle(offsets.begin() + r * pages, offsets.begin() + (r + 1) * pages, generator);
    }
  }
  CHECK(cudaMemcpy(device_offsets, offsets.data(), offsets.size() * 8, cudaMemcpyHostToDevice));
  link_rings<<<sms, 256>>>(m.base, device_offsets, pages, rings);
  double best = 1e300;
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::vector<u64> cycles(rings);
    chase<<<rings, 1>>>(m.base, device_offsets, pages, device_cycles);
    CHECK(cudaMemcpy(cycles.data(), device_cycles, rings * 8, cudaMemcpyDeviceToHost));
    double sum = 0;
    for (const u64 c : cycles) sum += c;
    best = std::min(best, sum / (rings * pages));
  }
  std::printf("chase %-8s %5llu KB/page %7llu pages %-10s %3llu SMs %7.1f cycles\n", m.name, page / kKiB, pages,
              random ? "random" : "ascending", rings, best);
}

template <class Launch>
double best_milliseconds(Launch launch) {
  cudaEvent_t start, end;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&end));
  float best = 1e9f;
  for (int repeat = 0; repeat < 4; ++repeat) {
    CHECK(cudaEventRecord(start));
    launch(repeat);
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, start, end));
    best = std::min(best, ms);
  }
  return best;
}

void measure_random(const Memory& m, u64 bytes) {
  constexpr unsigned kPerThread = 256;
  const double ms = best_milliseconds(
      [&](int seed) { read_random<<<sms * 8, 256>>>(m, bytes / 128, kPerThread, seed * 7919 + 1, device_cycles); });
  std::printf("random %-8s %7llu MB %8.3f loads/ns\n", m.name, bytes / kMiB, sms * 8.0 * 256 * kPerThread / ms / 1e6);
}

void measure_stream(const Memory& m, u64 bytes) {
  for (const int blocks_per_sm : {1, 8}) {
    const double ms = best_milliseconds([&](int) { read_all<<<sms * blocks_per_sm, 256>>>(m, bytes, device_cycles); });
    std::printf("stream %-8s %7llu MB %d blocks/SM %8.1f GB/s\n", m.name, bytes / kMiB, blocks_per_sm, bytes / ms / 1e6);
  }
}

void measure(const Memory& m, u64 page, u64 bytes) {
  zero<<<sms * 8, 256>>>(m, bytes);
  CHECK(cudaDeviceSynchronize());
  for (const bool random : {false, true}) {
    for (u64 pages = 64; pages <= bytes / page; pages *= 2) {
      measure_chase(m, page, pages, random);
      if (pages * 3 / 2 <= bytes / page && pages >= 8192) measure_chase(m, page, pages * 3 / 2, random);
    }
  }
  for (const u64 pages : {64, 128, 192, 256, 512, 1024, 1536, 2048, 3072}) {
    if (pages * sms * page <= bytes) measure_chase(m, page, pages, true, sms);
  }
  for (u64 size = 32 * kMiB; size <= bytes; size *= 2) measure_random(m, size);
  for (u64 size = 512 * kMiB; size <= bytes && size <= 16 * kGiB; size *= 2) measure_stream(m, size);
}

Memory part_resident(const char* name, u64 resident, u64 stride, u64 bytes) {
  Memory m{name, nullptr, resident, stride};
  CHECK(cudaMallocManaged(&m.base, bytes / resident * stride));
  const cudaMemLocation gpu{cudaMemLocationTypeDevice, 0};
  for (u64 r = 0; r < bytes; r += resident) {
    CHECK(cudaMemPrefetchAsync(m.base + address(m, r), resident, gpu, 0, nullptr));
  }
  CHECK(cudaDeviceSynchronize());
  return m;
}

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  sms = device.multiProcessorCount;
  CHECK(cudaMalloc(&device_cycles, 8192));
  CHECK(cudaMalloc(&device_offsets, kMaxOffsets * 8));
  std::printf("%s, %d SMs\n", device.name, sms);
  {
    Memory m{"2M", nullptr, 120 * kGiB, 120 * kGiB};
    CHECK(cudaMalloc(&m.base, m.resident));
    measure(m, 2 * kMiB, m.resident);
    // The gaps of the other two memories, with 2 MB entries, for comparison.
    measure({"2M/64K", m.base, kMiB, 2 * kMiB}, 64 * kKiB, 16 * kGiB);
    measure({"2M/4K", m.base, 32 * kKiB, 64 * kKiB}, 4 * kKiB, kGiB);
    CHECK(cudaFree(m.base));
  }
  {
    const Memory m = part_resident("64K", kMiB, 2 * kMiB, 16 * kGiB);
    measure(m, 64 * kKiB, 16 * kGiB);
    CHECK(cudaFree(m.base));
  }
  {
    const Memory m = part_resident("4K", 32 * kKiB, 64 * kKiB, kGiB);
    measure(m, 4 * kKiB, kGiB);
    CHECK(cudaFree(m.base));
  }
}
