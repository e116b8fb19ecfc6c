// SPDX-License-Identifier: Apache-2.0
// Times kernels whose data stay in pinned host memory: bandwidth by shape of the launch, by how much of a line of 128
// bytes a warp asks for, what a second use of the same bytes costs (by the same SM, by another one, by all at once), the
// latency of a dependent access, scattered writes and atomics, both directions at once, and computing beside loading.
// Not part of the build:
//   nvcc -O2 -std=c++17 -arch=native remote_stream.cu -o remote_stream && ./remote_stream [MiB]
// With `one KIND` it makes one launch, for a profiler that counts sectors.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call)                                                                         \
  do {                                                                                      \
    const cudaError_t status = (call);                                                      \
    if (status != cudaSuccess) {                                                            \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));                  \
      std::exit(1);                                                                         \
    }                                                                                       \
  } while (false)

__global__ void read_float4(const float4* data, uint64_t count, float* sink) {
  float sum = 0;
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < count; i += gridDim.x * uint64_t{blockDim.x}) {
    const float4 value = data[i];
    sum += value.x + value.y + value.z + value.w;
  }
  if (sum == 12345.678F) *sink = sum;
}
__global__ void read_float(const float* data, uint64_t count, float* sink) {
  float sum = 0;
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < count; i += gridDim.x * uint64_t{blockDim.x}) {
    sum += data[i];
  }
  if (sum == 12345.678F) *sink = sum;
}
__global__ void write_float4(float4* data, uint64_t count) {
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < count; i += gridDim.x * uint64_t{blockDim.x}) {
    data[i] = make_float4(1, 2, 3, 4);
  }
}
__global__ void write_float(float* data, uint64_t count) {
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < count; i += gridDim.x * uint64_t{blockDim.x}) {
    data[i] = 1;
  }
}
__global__ void copy_float4(const float4* from, float4* to, uint64_t count) {
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < count; i += gridDim.x * uint64_t{blockDim.x}) {
    to[i] = from[i];
  }
}
// Access i is word i * stride.
__global__ void read_stride(const float* data, uint64_t accesses, uint64_t stride, float* sink) {
  float sum = 0;
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < accesses; i += gridDim.x * uint64_t{blockDim.x}) {
    sum += data[i * stride];
  }
  if (sum == 12345.678F) *sink = sum;
}
__global__ void write_stride(float* data, uint64_t accesses, uint64_t stride) {
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < accesses; i += gridDim.x * uint64_t{blockDim.x}) {
    data[i * stride] = 1;
  }
}
__global__ void atomic_stride(float* data, uint64_t accesses, uint64_t stride) {
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < accesses; i += gridDim.x * uint64_t{blockDim.x}) {
    atomicAdd(data + i * stride, 1.0F);
  }
}
// Pieces of `words` contiguous words, each at a multiple of `apart` words, in order.
__global__ void read_pieces(const float* data, uint64_t accesses, uint64_t words, uint64_t apart, float* sink) {
  float sum = 0;
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < accesses; i += gridDim.x * uint64_t{blockDim.x}) {
    sum += data[i / words * apart + i % words];
  }
  if (sum == 12345.678F) *sink = sum;
}
__global__ void write_pieces(float* data, uint64_t accesses, uint64_t words, uint64_t apart) {
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < accesses; i += gridDim.x * uint64_t{blockDim.x}) {
    data[i / words * apart + i % words] = 1;
  }
}
// `passes` passes; in pass p block b reads what block b + p * shift read in the first.
__global__ void read_again(const float4* data, uint64_t count, unsigned passes, unsigned shift, float* sink) {
  float sum = 0;
  for (unsigned p = 0; p < passes; ++p) {
    const uint64_t block = (blockIdx.x + uint64_t{p} * shift) % gridDim.x;
    for (uint64_t i = block * blockDim.x + threadIdx.x; i < count; i += gridDim.x * uint64_t{blockDim.x}) {
      const float4 value = data[i];
      sum += value.x + value.y + value.z + value.w;
    }
  }
  if (sum == 12345.678F) *sink = sum;
}
// Every block reads everything.
__global__ void read_by_all(const float4* data, uint64_t count, float* sink) {
  float sum = 0;
  for (uint64_t i = threadIdx.x; i < count; i += blockDim.x) {
    const float4 value = data[i];
    sum += value.x + value.y + value.z + value.w;
  }
  if (sum == 12345.678F) *sink = sum;
}
__global__ void chase(const uint32_t* next, uint32_t steps, uint32_t* sink) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < steps; ++i) at = next[at];
  *sink = at;
}
__global__ void read_and_compute(const float4* data, uint64_t count, unsigned work, float* sink) {
  float sum = 0;
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < count; i += gridDim.x * uint64_t{blockDim.x}) {
    const float4 value = data[i];
    float x = value.x + value.y + value.z + value.w;
    for (unsigned k = 0; k < work; ++k) x = x * 0.999F + 0.5F;
    sum += x;
  }
  if (sum == 12345.678F) *sink = sum;
}

template <class Launch>
double best_ms(Launch&& launch, int repeats = 3) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  double best = 1e30;
  for (int i = 0; i <= repeats; ++i) {
    CHECK(cudaEventRecord(begin));
    launch();
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    if (i > 0) best = std::min<double>(best, ms);
  }
  CHECK(cudaGetLastError());
  return best;
}

int main(int argc, char** argv) {
  const bool one = argc > 2 && std::string(argv[1]) == "one";
  const std::string kind = one ? argv[2] : "";
  const uint64_t mib = argc > 1 && !one ? std::strtoull(argv[1], nullptr, 10) : 512;
  const uint64_t bytes = mib << 20;
  char *host = nullptr, *device = nullptr;
  float* sink = nullptr;
  CHECK(cudaHostAlloc(reinterpret_cast<void**>(&host), bytes, cudaHostAllocMapped));
  std::memset(host, 0, bytes);
  CHECK(cudaMalloc(reinterpret_cast<void**>(&device), bytes));
  CHECK(cudaMalloc(reinterpret_cast<void**>(&sink), 64));
  auto* words = reinterpret_cast<float*>(host);
  auto* quads = reinterpret_cast<float4*>(host);
  cudaDeviceProp properties{};
  CHECK(cudaGetDeviceProperties(&properties, 0));
  const auto sms = static_cast<unsigned>(properties.multiProcessorCount);
  if (one) {
    const uint64_t small = 16 << 20;
    if (kind == "stream") read_float4<<<sms * 4, 256>>>(quads, small / 16, sink);
    if (kind == "stream_float") read_float<<<sms * 4, 256>>>(words, small / 4, sink);
    if (kind == "write") write_float4<<<sms * 4, 256>>>(quads, small / 16);
    if (kind == "again") read_again<<<sms, 1024>>>(quads, small / 16, 4, 0, sink);
    if (kind == "again_shifted") read_again<<<sms, 1024>>>(quads, small / 16, 4, 1, sink);
    if (kind == "by_all") read_by_all<<<sms, 1024>>>(quads, (1 << 20) / 16, sink);
    if (kind == "stride8") read_stride<<<sms * 4, 256>>>(words, small / 32, 8, sink);
    if (kind == "stride32") read_stride<<<sms * 4, 256>>>(words, small / 128, 32, sink);
    CHECK(cudaDeviceSynchronize());
    return 0;
  }
  std::printf("gpu %s, %u SMs, L2 %d bytes, pinned %llu MiB\n", properties.name, sms, properties.l2CacheSize,
              static_cast<unsigned long long>(mib));
  const auto rate = [](uint64_t amount, double ms) { return static_cast<double>(amount) / ms / 1e6; };
  const uint64_t part = std::min<uint64_t>(bytes, 256 << 20);
  for (const unsigned grid : {1U, 4U, 16U, 66U, 132U, 528U, 2112U}) {
    for (const unsigned block : {32U, 256U, 1024U}) {
      const uint64_t amount = grid * block < 1024 ? part / 16 : part;
      const double r4 = best_ms([&] { read_float4<<<grid, block>>>(quads, amount / 16, sink); });
      const double r1 = best_ms([&] { read_float<<<grid, block>>>(words, amount / 4, sink); });
      const double w4 = best_ms([&] { write_float4<<<grid, block>>>(quads, amount / 16); });
      const double w1 = best_ms([&] { write_float<<<grid, block>>>(words, amount / 4); });
      std::printf("grid %u block %u GB/s: read float4 %.2f float %.2f write float4 %.2f float %.2f\n", grid, block,
                  rate(amount, r4), rate(amount, r1), rate(amount, w4), rate(amount, w1));
    }
  }
  for (const uint64_t stride : {1, 2, 4, 8, 16, 32, 64, 256, 1024}) {
    const uint64_t accesses = std::min<uint64_t>(part / 4 / stride, 4 << 20);
    const double r = best_ms([&] { read_stride<<<sms * 8, 256>>>(words, accesses, stride, sink); });
    const double w = best_ms([&] { write_stride<<<sms * 8, 256>>>(words, accesses, stride); });
    const double a = best_ms([&] { atomic_stride<<<sms * 8, 256>>>(words, accesses / 4, stride); });
    std::printf("stride %llu words: ns per access read %.3f write %.3f atomic %.3f (%llu accesses)\n",
                static_cast<unsigned long long>(stride), r * 1e6 / static_cast<double>(accesses),
                w * 1e6 / static_cast<double>(accesses), a * 1e6 / static_cast<double>(accesses / 4),
                static_cast<unsigned long long>(accesses));
  }
  for (const uint64_t piece : {8, 16, 24, 32, 64, 128, 256}) {
    for (const uint64_t apart : {32, 128, 1024, 1032}) {
      if (apart <= piece) continue;
      const uint64_t accesses = part / 4 / apart * piece;
      const double r = best_ms([&] { read_pieces<<<sms * 8, 256>>>(words, accesses, piece, apart, sink); });
      const double w = best_ms([&] { write_pieces<<<sms * 8, 256>>>(words, accesses, piece, apart); });
      std::printf("pieces of %llu words, %llu apart: read %.2f write %.2f GB/s\n", static_cast<unsigned long long>(piece),
                  static_cast<unsigned long long>(apart), rate(accesses * 4, r), rate(accesses * 4, w));
    }
  }
  for (const uint64_t size_mib : {1, 2, 4, 8, 12, 16, 20, 24, 32, 48, 64, 128}) {
    const uint64_t count = (size_mib << 20) / 16;
    const double first = best_ms([&] { read_again<<<sms, 1024>>>(quads, count, 1, 0, sink); });
    const double same = best_ms([&] { read_again<<<sms, 1024>>>(quads, count, 5, 0, sink); });
    const double shifted = best_ms([&] { read_again<<<sms, 1024>>>(quads, count, 5, 1, sink); });
    const double far = best_ms([&] { read_again<<<sms, 1024>>>(quads, count, 5, sms / 2 + 1, sink); });
    std::printf("reuse %llu MiB: once %.4f ms, five times by the same SM %.4f, by the next %.4f, by one far away %.4f\n",
                static_cast<unsigned long long>(size_mib), first, same, shifted, far);
  }
  for (const unsigned blocks : {1U, 2U, 4U, 8U, 16U, 33U, 66U, 132U}) {
    for (const uint64_t kib : {64, 256, 1024, 4096}) {
      const double ms = best_ms([&] { read_by_all<<<blocks, 1024>>>(quads, kib * 1024 / 16, sink); });
      std::printf("by all: %u blocks read the same %llu KiB: %.4f ms, %.2f GB/s of asked bytes\n", blocks,
                  static_cast<unsigned long long>(kib), ms, rate(kib * 1024 * blocks, ms));
    }
  }
  for (const uint64_t spread_kib : {16, 128, 1024, 16384, 262144}) {
    const uint64_t slots = std::min<uint64_t>(spread_kib * 1024, part) / 128;
    std::vector<uint32_t> order(slots);
    for (uint64_t i = 0; i < slots; ++i) order[i] = static_cast<uint32_t>(i);
    uint64_t seed = 1;
    for (uint64_t i = slots - 1; i > 0; --i) {
      seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
      std::swap(order[i], order[(seed >> 33) % (i + 1)]);
    }
    auto* next = reinterpret_cast<uint32_t*>(host);
    for (uint64_t i = 0; i < slots; ++i) next[order[i] * 32ULL] = order[(i + 1) % slots] * 32U;
    const uint32_t steps = 4000;
    const double ms = best_ms([&] { chase<<<1, 1>>>(next, steps, reinterpret_cast<uint32_t*>(sink)); });
    std::printf("latency over %llu KiB: %.1f ns per dependent access\n", static_cast<unsigned long long>(spread_kib),
                ms * 1e6 / steps);
  }
  std::memset(host, 0, bytes);
  const uint64_t half = part / 2;
  const double in = best_ms([&] { copy_float4<<<sms * 4, 256>>>(quads, reinterpret_cast<float4*>(device), half / 16); });
  const double out = best_ms([&] { copy_float4<<<sms * 4, 256>>>(reinterpret_cast<float4*>(device), quads, half / 16); });
  const double both = best_ms([&] { copy_float4<<<sms * 4, 256>>>(quads, quads + half / 16, half / 16); });
  std::printf("copy %llu MiB: to the GPU %.2f GB/s, to the host %.2f, within the host %.2f of each\n",
              static_cast<unsigned long long>(half >> 20), rate(half, in), rate(half, out), rate(half, both));
  for (const unsigned work : {0U, 64U, 256U, 1024U, 4096U}) {
    const uint64_t count = (64ULL << 20) / 16;
    const double remote = best_ms([&] { read_and_compute<<<sms * 8, 256>>>(quads, count, work, sink); });
    const double local = best_ms(
        [&] { read_and_compute<<<sms * 8, 256>>>(reinterpret_cast<const float4*>(device), count, work, sink); });
    std::printf("compute %u per load of 64 MiB: remote %.4f ms, on the GPU %.4f ms\n", work, remote, local);
  }
  return 0;
}
