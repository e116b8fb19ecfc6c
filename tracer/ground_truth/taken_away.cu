// SPDX-License-Identifier: Apache-2.0
// How a kernel gets on while its pages are taken away: what passes on an SM that waits for a page, and how many steps
// threads make that walk rows of their own while the host takes one 2 MB block after the other back.
//
//   taken_away hits                                 one line per SM: how long its other warps stood still
//   taken_away rows STEPS INTERVAL_US BLOCKS [LIMIT_S [resident] [cached]]
//       how long BLOCKS thread blocks take for STEPS accesses per thread while a 2 MB block is taken away every
//       INTERVAL_US (0: never), for at most LIMIT_S (20); then the times at which the first, a quarter, half, three
//       quarters and the last of the warps had come so far. resident: all pages are on the GPU first; cached: loads may
//       hit in the first-level cache
//
// Built with `nvcc -O2 -std=c++17 -arch=native`. Memory is never oversubscribed: 32 MiB per thread block, refused where
// that is more than a quarter of what is free.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#define CHECK(call)                                                                                        \
  if (cudaError_t error = (call); error != cudaSuccess) {                                                  \
    std::fprintf(stderr, "taken_away: %s: %s\n", #call, cudaGetErrorString(error));                        \
    std::exit(1);                                                                                          \
  }

namespace {

constexpr std::uint64_t kVaBlock = 2 << 20;
constexpr std::uint64_t kRowBytes = 128 << 10;
constexpr unsigned kThreads = 256, kWarps = kThreads / 32;

__device__ unsigned long long now_ns() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__device__ unsigned sm() {
  unsigned id;
  asm volatile("mov.u32 %0, %smid;" : "=r"(id));
  return id;
}

struct Watched {
  unsigned long long issued, back;  // of the access that misses
  unsigned long long stood_ns;      // a watching warp, between the two: the sum of its gaps of more than 1 us
  unsigned long long passed;        // and its loads that came back
  unsigned sm;
};

// Warp 0 reads a page per lane of a VA block of its own; warp 1 reads mapped memory all the time.
__global__ void hits(const char* missing, const unsigned* mapped, Watched* watched) {
  extern __shared__ char room[];
  (void)room;
  __shared__ volatile unsigned long long issued, back;
  __shared__ volatile int came[kThreads];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  Watched& mine = watched[blockIdx.x];
  if (threadIdx.x == 0) issued = back = 0;
  __syncthreads();
  if (warp == 0) {
    const unsigned long long begin = now_ns();
    while (now_ns() - begin < 50000) {
    }
    const unsigned long long before = now_ns();
    issued = before;
    const int value = *reinterpret_cast<const volatile int*>(missing + blockIdx.x * kVaBlock + lane * 4096);
    came[threadIdx.x] = value;  // in order: the clock is read after the value is there
    __syncwarp();
    const unsigned long long after = now_ns();
    if (lane == 0) {
      mine.issued = before;
      mine.back = after;
      mine.sm = sm();
      back = after;
    }
  } else if (warp == 1) {
    unsigned long long stood = 0, passed = 0, last = now_ns();
    while (back == 0) {
      came[threadIdx.x] = static_cast<int>(__ldcg(mapped + (passed * 977 + lane * 8 + blockIdx.x * 64) % (1u << 20)));
      const unsigned long long now = now_ns();
      if (issued != 0) {
        if (now - last > 1000) stood += now - last;
        ++passed;
      }
      last = now;
    }
    if (lane == 0) {
      mine.stood_ns = stood;
      mine.passed = passed;
    }
  }
}

// A row per thread, a word at a time. Lane 0 of a warp notes the time every `note` steps. kCached: loads may hit in the
// SM's first-level cache; else each goes to the GPU's memory.
template <bool kCached>
__global__ void rows(const float* matrix, const float* vector, float* sums, unsigned steps, unsigned note,
                     unsigned long long* times, unsigned* sms) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, warp = thread / 32;
  const float* row = matrix + std::uint64_t{thread} * (kRowBytes / sizeof(float));
  if (threadIdx.x == 0) sms[blockIdx.x] = sm();
  volatile float* sum = sums + thread;
#pragma unroll 1
  for (unsigned i = 0; i < steps; ++i) {
    const unsigned column = i % (kRowBytes / sizeof(float));
    const float element = kCached ? __ldca(row + column) : __ldcv(row + column);
    *sum += element * (kCached ? __ldca(vector + column) : __ldcv(vector + column));
    if (i % note == 0 && thread % 32 == 0) times[warp * (steps / note) + i / note] = now_ns();
  }
}

void* managed(std::uint64_t bytes) {
  std::size_t free = 0, total = 0;
  CHECK(cudaMemGetInfo(&free, &total));
  if (bytes > free / 4) {
    std::fprintf(stderr, "taken_away: %zu MiB are free; needed: four times %zu\n", free >> 20, std::size_t(bytes) >> 20);
    std::exit(1);
  }
  void* memory = nullptr;
  CHECK(cudaMallocManaged(&memory, bytes));
  std::memset(memory, 1, bytes);
  return memory;
}

int measure_hits() {
  constexpr unsigned kBlocks = 132, kRoom = 120 << 10;
  char* missing = static_cast<char*>(managed(kBlocks * kVaBlock));
  unsigned* mapped = nullptr;
  CHECK(cudaMalloc(&mapped, 4 << 20));
  CHECK(cudaMemset(mapped, 0, 4 << 20));
  Watched* watched = nullptr;
  CHECK(cudaMalloc(&watched, kBlocks * sizeof(Watched)));
  CHECK(cudaMemset(watched, 0, kBlocks * sizeof(Watched)));
  CHECK(cudaFuncSetAttribute(hits, cudaFuncAttributeMaxDynamicSharedMemorySize, kRoom));
  CHECK(cudaDeviceSynchronize());
  hits<<<kBlocks, kThreads, kRoom>>>(missing, mapped, watched);
  CHECK(cudaDeviceSynchronize());
  std::vector<Watched> all(kBlocks);
  CHECK(cudaMemcpy(all.data(), watched, kBlocks * sizeof(Watched), cudaMemcpyDeviceToHost));
  std::sort(all.begin(), all.end(), [](const Watched& a, const Watched& b) { return a.back < b.back; });
  for (const Watched& one : all) {
    std::printf("sm %u waited_us %.1f stood_us %.1f passed %llu\n", one.sm, double(one.back - one.issued) / 1e3,
                double(one.stood_ns) / 1e3, one.passed);
  }
  return 0;
}

int measure_rows(unsigned steps, unsigned interval_us, unsigned blocks, double limit_s,
                 bool resident, bool cached) {
  using Clock = std::chrono::steady_clock;
  const std::uint64_t bytes = std::uint64_t{blocks} * kThreads * kRowBytes, va_blocks = bytes / kVaBlock;
  char* matrix = static_cast<char*>(managed(bytes));
  float* vector = static_cast<float*>(managed(kVaBlock));
  float* sums = nullptr;
  const unsigned note = std::max(1u, steps / 64);
  unsigned long long* times = nullptr;
  unsigned* sms = nullptr;
  const std::size_t noted = std::size_t(blocks) * kWarps * (steps / note);
  CHECK(cudaMalloc(&sums, blocks * kThreads * sizeof(float)));
  CHECK(cudaMalloc(&times, noted * 8));
  CHECK(cudaMalloc(&sms, blocks * 4));
  CHECK(cudaMemset(times, 0, noted * 8));
  const cudaMemLocation gpu{cudaMemLocationTypeDevice, 0}, host{cudaMemLocationTypeHost, 0};
  if (resident) CHECK(cudaMemPrefetchAsync(matrix, bytes, gpu, 0, nullptr));
  CHECK(cudaMemPrefetchAsync(vector, kVaBlock, gpu, 0, nullptr));
  cudaStream_t working, taking;
  CHECK(cudaStreamCreateWithFlags(&working, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&taking, cudaStreamNonBlocking));
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaDeviceSynchronize());
  std::vector<std::uint32_t> order(va_blocks);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  CHECK(cudaEventRecord(begin, working));
  const auto kernel = cached ? rows<true> : rows<false>;
  kernel<<<blocks, kThreads, 0, working>>>(reinterpret_cast<float*>(matrix), vector, sums, steps, note, times, sms);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end, working));
  const Clock::time_point start = Clock::now();
  std::uint64_t taken = 0;
  double in_calls_us = 0;
  while (interval_us != 0 && cudaEventQuery(end) == cudaErrorNotReady) {
    const double since = std::chrono::duration<double>(Clock::now() - start).count();
    if (since > limit_s) break;
    if (since * 1e6 < double(taken) * interval_us) continue;
    const Clock::time_point call = Clock::now();
    CHECK(cudaMemPrefetchAsync(matrix + order[taken % va_blocks] * kVaBlock, kVaBlock, host, 0, taking));
    in_calls_us += std::chrono::duration<double, std::micro>(Clock::now() - call).count();
    ++taken;
  }
  const double took = std::chrono::duration<double>(Clock::now() - start).count();
  CHECK(cudaDeviceSynchronize());
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  std::vector<unsigned long long> all(noted);
  CHECK(cudaMemcpy(all.data(), times, noted * 8, cudaMemcpyDeviceToHost));
  std::vector<unsigned> on(blocks);
  CHECK(cudaMemcpy(on.data(), sms, blocks * 4, cudaMemcpyDeviceToHost));
  std::sort(on.begin(), on.end());
  const std::size_t used = std::unique(on.begin(), on.end()) - on.begin();
  std::printf("rows steps %u interval_us %u blocks %u sms %zu kernel_ms %.2f taken %llu taking_s %.3f call_us %.1f\n", steps,
              interval_us, blocks, used, ms, (unsigned long long)taken, took, taken ? in_calls_us / double(taken) : 0.0);
  // The way: at each mark, when the quarter, the half and the last of the warps had come so far.
  const std::size_t marks = steps / note, warps = std::size_t(blocks) * kWarps;
  unsigned long long first = ~0ull;
  for (std::size_t w = 0; w < warps; ++w) first = std::min(first, all[w * marks]);
  for (std::size_t m = 0; m < marks; m += std::max<std::size_t>(1, marks / 8)) {
    std::vector<double> at;
    for (std::size_t w = 0; w < warps; ++w) at.push_back(double(all[w * marks + m] - first) / 1e6);
    std::sort(at.begin(), at.end());
    std::printf("  step %zu ms: %.2f %.2f %.2f %.2f %.2f\n", m * note, at[0], at[warps / 4], at[warps / 2], at[3 * warps / 4],
                at[warps - 1]);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "hits") return measure_hits();
  const auto has = [&](const char* word) {
    return std::any_of(argv + std::min(argc, 6), argv + argc, [&](const char* one) { return std::string(one) == word; });
  };
  if (argc >= 5 && std::string(argv[1]) == "rows" && std::atoi(argv[2]) > 0 && std::atoi(argv[4]) > 0) {
    return measure_rows(unsigned(std::atoi(argv[2])), unsigned(std::atoi(argv[3])), unsigned(std::atoi(argv[4])),
                        argc > 5 ? std::atof(argv[5]) : 20.0, has("resident"), has("cached"));
  }
  std::fprintf(stderr, "usage: taken_away hits | rows STEPS INTERVAL_US BLOCKS [LIMIT_S [resident] [cached]]; "
                       "STEPS and BLOCKS from 1 on\n");
  return 2;
}
