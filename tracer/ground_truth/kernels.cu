// SPDX-License-Identifier: Apache-2.0
#include "tracer/ground_truth/kernels.h"

#include <type_traits>

namespace uvmtrace::ground_truth {

namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint64_t kPage = 4096;

__global__ void touch_in_order(char* data, const PackedTouch* touches, std::uint32_t count, std::uint32_t* sink) {
  std::uint32_t sum = 0;  // stays 0, which the compiler cannot know
  for (std::uint32_t i = 0; i < count; ++i) {
    const PackedTouch touch = touches[i];
    volatile std::uint32_t* word = reinterpret_cast<std::uint32_t*>(data + (touch >> 1) * kPage + sum);
    if (touch & 1) {
      *word = 0;
      __threadfence_system();  // waits for the store: otherwise many stores would fault at once
    } else {
      sum += *word;
    }
  }
  *sink = sum;
}

__global__ void touch_at_once(char* data, const PackedTouch* touches, std::uint32_t count, std::uint32_t* sink) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const PackedTouch touch = touches[i];
  volatile std::uint32_t* word = reinterpret_cast<std::uint32_t*>(data + (touch >> 1) * kPage);
  if (touch & 1) {
    *word = 0;
  } else if (*word != 0) {
    *sink = i;
  }
}

__device__ float sum_of(float value) { return value; }
__device__ float sum_of(float2 value) { return value.x + value.y; }
__device__ float sum_of(float4 value) { return value.x + value.y + value.z + value.w; }

template <class Value>
__global__ void stream_read(const Value* data, std::uint64_t count, std::uint32_t* sink) {
  float sum = 0;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    sum += sum_of(data[i]);
  }
  if (sum != 0) *sink = 1;
}

template <class Value>
__global__ void stream_write(Value* data, std::uint64_t count) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    data[i] = Value{};
  }
}

// Calls `launch` with a null pointer to a value of `access_bytes` bytes.
template <class Launch>
cudaError_t with_value(std::uint32_t access_bytes, Launch launch) {
  switch (access_bytes) {
    case sizeof(float):
      launch(static_cast<float*>(nullptr));
      break;
    case sizeof(float2):
      launch(static_cast<float2*>(nullptr));
      break;
    case sizeof(float4):
      launch(static_cast<float4*>(nullptr));
      break;
    default:
      return cudaErrorInvalidValue;
  }
  return cudaGetLastError();
}

__global__ void vector_add(const float4* a, const float4* b, float4* c, std::uint64_t count) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    const float4 x = a[i], y = b[i];
    c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
  }
}

__global__ void sparse_pass(std::uint32_t* array, const std::uint64_t* words, std::uint64_t count) {
  const std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
  if (i < count) array[words[i]] += 1;
}

__global__ void sum_words(const std::uint32_t* words, std::uint64_t count, unsigned long long* sum) {
  unsigned long long part = 0;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    part += words[i];
  }
  atomicAdd(sum, part);
}

__global__ void write_words(std::uint32_t* words, std::uint64_t count) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    words[i] = kWordValue;
  }
}

__global__ void page_walk(const char* input, char* output, std::uint64_t pages, std::uint64_t share,
                          const std::uint32_t* list) {
  const std::uint64_t first = (blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x) * share;
  for (std::uint64_t i = first; i < first + share; ++i) {
    if (i >= pages) return;  // the length of the list, if there is one
    const std::uint64_t page = list == nullptr ? i : list[i];
    *reinterpret_cast<float*>(output + page * kPage) = *reinterpret_cast<const float*>(input + page * kPage) + 1;
  }
}

template <class Value>
__global__ void stretches(char* data, std::uint64_t per_stretch, std::uint64_t each, std::uint64_t count, bool write,
                          std::uint32_t* sink) {
  float sum = 0;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < per_stretch * count;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    Value* value = reinterpret_cast<Value*>(data + i / per_stretch * each) + i % per_stretch;
    if (write) {
      *value = Value{};
    } else {
      sum += sum_of(*value);
    }
  }
  if (sum != 0) *sink = 1;
}

__global__ void nothing() {}

__device__ std::uint64_t timer_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void pause(std::uint64_t nanoseconds) {
  const std::uint64_t begin = timer_ns();
  while (timer_ns() - begin < nanoseconds) __nanosleep(500);
}

}  // namespace

cudaError_t launch_ordered(char* data, const PackedTouch* touches, std::uint32_t count, std::uint32_t* sink) {
  touch_in_order<<<1, 1>>>(data, touches, count, sink);
  return cudaGetLastError();
}

cudaError_t launch_parallel(char* data, const PackedTouch* touches, std::uint32_t count, std::uint32_t threads,
                            std::uint32_t* sink) {
  touch_at_once<<<(count + threads - 1) / threads, threads>>>(data, touches, count, sink);
  return cudaGetLastError();
}

cudaError_t launch_stream_read(const void* data, std::uint64_t bytes, const Loop& loop, std::uint32_t* sink) {
  return with_value(loop.access_bytes, [&](auto* none) {
    stream_read<<<loop.grid, loop.threads>>>(static_cast<decltype(none)>(const_cast<void*>(data)),
                                             bytes / sizeof(*none), sink);
  });
}

cudaError_t launch_stream_write(void* data, std::uint64_t bytes, const Loop& loop) {
  return with_value(loop.access_bytes, [&](auto* none) {
    stream_write<<<loop.grid, loop.threads>>>(static_cast<decltype(none)>(data), bytes / sizeof(*none));
  });
}

cudaError_t launch_vector_add(void* data, std::uint64_t bytes, std::uint32_t grid) {
  const std::uint64_t count = bytes / 3 / sizeof(float4);
  auto* first = static_cast<float4*>(data);
  vector_add<<<grid, kThreads>>>(first, first + count, first + 2 * count, count);
  return cudaGetLastError();
}

cudaError_t launch_sparse_pass(std::uint32_t* array, const std::uint64_t* words, std::uint64_t count) {
  sparse_pass<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads>>>(array, words, count);
  return cudaGetLastError();
}

cudaError_t launch_sum_words(const std::uint32_t* words, std::uint64_t count, unsigned long long* sum) {
  sum_words<<<kWalkThreads / kThreads, kThreads>>>(words, count, sum);
  return cudaGetLastError();
}

cudaError_t launch_write_words(std::uint32_t* words, std::uint64_t count) {
  write_words<<<kWalkThreads / kThreads, kThreads>>>(words, count);
  return cudaGetLastError();
}

cudaError_t launch_page_walk(const char* input, char* output, std::uint64_t pages, const std::uint32_t* list,
                             std::uint64_t listed) {
  const std::uint64_t share = (pages + kWalkThreads - 1) / kWalkThreads;
  page_walk<<<kWalkThreads / kThreads, kThreads>>>(input, output, list == nullptr ? pages : listed, share, list);
  return cudaGetLastError();
}

cudaError_t launch_stretches(char* data, const Stretches& parts, bool write, const Loop& loop, std::uint32_t* sink) {
  return with_value(loop.access_bytes, [&](auto* none) {
    using Value = std::remove_pointer_t<decltype(none)>;
    stretches<Value><<<loop.grid, loop.threads>>>(data + parts.offset, parts.bytes / sizeof(Value), parts.each,
                                                  parts.count, write, sink);
  });
}

cudaError_t launch_nothing() {
  nothing<<<1, 1>>>();
  return cudaGetLastError();
}

cudaError_t launch_pause(std::uint64_t nanoseconds, cudaStream_t stream) {
  pause<<<1, 1, 0, stream>>>(nanoseconds);
  return cudaGetLastError();
}

}  // namespace uvmtrace::ground_truth
