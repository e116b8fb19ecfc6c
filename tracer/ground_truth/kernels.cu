#include "tracer/ground_truth/kernels.h"

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
      __threadfence_system();  // stores are not waited for: without it many would fault at once
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

// Calls `launch` with a null pointer to a value of so many bytes.
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

__global__ void nothing() {}

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
    stream_read<<<loop.grid, loop.threads>>>(static_cast<const decltype(none)>(const_cast<void*>(data)),
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

cudaError_t launch_nothing() {
  nothing<<<1, 1>>>();
  return cudaGetLastError();
}

}  // namespace uvmtrace::ground_truth
