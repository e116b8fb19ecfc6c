// SPDX-License-Identifier: Apache-2.0
#include "tracer/ground_truth/fault_kernels.h"

namespace uvmtrace::ground_truth {

namespace {

__device__ unsigned long long clock_ns() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__device__ void note_begin(BlockNote* notes) {
  if (threadIdx.x != 0) return;
  unsigned int sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  notes[blockIdx.x].sm = sm;
  notes[blockIdx.x].begin_ns = clock_ns();
}

__device__ void note_end(BlockNote* notes) {
  __syncthreads();
  if (threadIdx.x == 0) notes[blockIdx.x].end_ns = clock_ns();
}

__device__ unsigned long long thread_index() { return blockIdx.x * 1ull * blockDim.x + threadIdx.x; }

__device__ float added(float value) { return value; }
__device__ float added(float4 value) { return value.x + value.y + value.z + value.w; }

// Stores, or loads and uses the value.
__device__ void touch(char* at, bool write, float* sink) {
  volatile float* word = reinterpret_cast<float*>(at);
  if (write) {
    *word = 0;
  } else if (*word != 0) {
    *sink = 1;
  }
}

__global__ void lanes(char* data, unsigned long long pitch, bool write, BlockNote* notes, float* sink) {
  note_begin(notes);
  touch(data + thread_index() * pitch, write, sink);
  note_end(notes);
}

__global__ void walk(char* data, unsigned steps, unsigned long long pitch, unsigned long long warp_pitch, bool write,
                     BlockNote* notes, float* sink) {
  note_begin(notes);
  char* mine = data + thread_index() / 32 * warp_pitch + threadIdx.x % 32 * sizeof(float);
  for (unsigned step = 0; step < steps; ++step) touch(mine + step * pitch, write, sink);
  note_end(notes);
}

template <class Value, int kAtOnce>
__global__ void burst(char* data, unsigned long long pitch, unsigned long long warp_pitch, bool write, BlockNote* notes,
                      float* sink) {
  note_begin(notes);
  char* mine = data + thread_index() / 32 * warp_pitch + threadIdx.x % 32 * sizeof(Value);
  if (write) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) *reinterpret_cast<Value*>(mine + i * pitch) = Value{};
  } else {
    Value values[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) values[i] = __ldcg(reinterpret_cast<const Value*>(mine + i * pitch));
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) sum += added(values[i]);
    if (sum != 0) *sink = sum;
  }
  note_end(notes);
}

template <class Value>
__global__ void loop(Value* data, unsigned long long count, bool write, BlockNote* notes, float* sink) {
  note_begin(notes);
  const unsigned long long stride = gridDim.x * 1ull * blockDim.x;
  if (write) {
    for (unsigned long long i = thread_index(); i < count; i += stride) data[i] = Value{};
  } else {
    float sum = 0;
    for (unsigned long long i = thread_index(); i < count; i += stride) sum += added(data[i]);
    if (sum != 0) *sink = sum;
  }
  note_end(notes);
}

__global__ void add_nothing(char* data, unsigned long long pitch, BlockNote* notes) {
  note_begin(notes);
  atomicAdd(reinterpret_cast<float*>(data + thread_index() * pitch), 0.0f);
  note_end(notes);
}

template <class Value>
void launch_burst(const FaultExperiment& one, char* data, BlockNote* notes, float* sink) {
  if (one.steps == 1) {
    burst<Value, 1><<<one.grid, one.threads>>>(data, one.pitch, one.warp_pitch, one.write, notes, sink);
  } else if (one.steps == 4) {
    burst<Value, 4><<<one.grid, one.threads>>>(data, one.pitch, one.warp_pitch, one.write, notes, sink);
  } else {
    burst<Value, 16><<<one.grid, one.threads>>>(data, one.pitch, one.warp_pitch, one.write, notes, sink);
  }
}

template <class Value>
void launch_loop(const FaultExperiment& one, char* data, BlockNote* notes, float* sink) {
  loop<<<one.grid, one.threads>>>(reinterpret_cast<Value*>(data), one.bytes / sizeof(Value), one.write, notes, sink);
}

}  // namespace

cudaError_t launch_fault_experiment(const FaultExperiment& one, char* data, BlockNote* notes, float* sink) {
  switch (one.pattern) {
    case FaultPattern::kLanes:
      lanes<<<one.grid, one.threads>>>(data, one.pitch, one.write, notes, sink);
      break;
    case FaultPattern::kWalk:
      walk<<<one.grid, one.threads>>>(data, one.steps, one.pitch, one.warp_pitch, one.write, notes, sink);
      break;
    case FaultPattern::kBurst:
      if (one.access_bytes == sizeof(float4)) {
        launch_burst<float4>(one, data, notes, sink);
      } else {
        launch_burst<float>(one, data, notes, sink);
      }
      break;
    case FaultPattern::kLoop:
      if (one.access_bytes == sizeof(float4)) {
        launch_loop<float4>(one, data, notes, sink);
      } else {
        launch_loop<float>(one, data, notes, sink);
      }
      break;
    case FaultPattern::kAtomic:
      add_nothing<<<one.grid, one.threads>>>(data, one.pitch, notes);
      break;
  }
  return cudaGetLastError();
}

}  // namespace uvmtrace::ground_truth
