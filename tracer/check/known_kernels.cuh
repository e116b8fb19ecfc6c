// SPDX-License-Identifier: Apache-2.0
// Kernels whose accesses follow from their source. They have C names, so that the log has the same names.
#pragma once

#include <cuda_pipeline.h>

#include <cstdint>

__device__ float known_table[8192];
__constant__ float known_constant[64];

extern "C" {

__global__ void vector_add(const float* a, const float* b, float* c, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void half_range(float* a, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 2) a[i] = 1.0F;
}

__global__ void strided_read(const float* a, float* out, unsigned stride, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[static_cast<std::uint64_t>(i) * stride];
}

__global__ void gather(const unsigned* index, const float* a, float* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[index[i]];
}

__global__ void scatter_bytes(const unsigned* index, unsigned char* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[index[i]] = 7;
}

// The result is not used: a reduction.
__global__ void atomic_add(const unsigned* index, unsigned* bins, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[index[i]], 1U);
}

// The result is used.
__global__ void atomic_swap(unsigned* bins, unsigned* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = atomicExch(&bins[i * 64], i);
}

__global__ void async_copy(const float4* a, float4* out, unsigned n) {
  __shared__ float4 tile[256];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) __pipeline_memcpy_async(&tile[threadIdx.x], &a[i], sizeof(float4));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  if (i < n) out[i] = tile[threadIdx.x];
}

// Interior points of a plane of `width` x `height`; the halo is read and not written.
__global__ void stencil(const float* in, float* out, unsigned width, unsigned height) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = blockIdx.y;
  if (x == 0 || y == 0 || x + 1 >= width || y + 1 >= height) return;
  const float* const p = in + static_cast<std::uint64_t>(y) * width + x;
  out[static_cast<std::uint64_t>(y) * width + x] = p[0] + p[-1] + p[1] + p[-static_cast<int>(width)] + p[width];
}

// Each block fills its own part.
__global__ void fill_parts(uint4* out, unsigned per_block) {
  const std::uint64_t first = static_cast<std::uint64_t>(blockIdx.x + gridDim.x * blockIdx.y) * per_block;
  for (unsigned i = threadIdx.x; i < per_block; i += blockDim.x) out[first + i] = make_uint4(1, 2, 3, 4);
}

// Every block reads the same head and writes its own part.
__global__ void shared_head(const float4* head, unsigned head_count, float4* out, unsigned per_block) {
  float4 sum = make_float4(0, 0, 0, 0);
  for (unsigned i = threadIdx.x; i < head_count; i += blockDim.x) sum.x += head[i].x;
  const std::uint64_t first = static_cast<std::uint64_t>(blockIdx.x) * per_block;
  for (unsigned i = threadIdx.x; i < per_block; i += blockDim.x) out[first + i] = sum;
}

// Shared, local and constant memory must not appear.
__global__ void inner_memories(float* out, unsigned n) {
  __shared__ float tile[256];
  float local[64];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned k = 0; k < 64; ++k) local[k] = known_constant[(k + i) % 64];
  tile[threadIdx.x] = local[(i * 7) % 64];
  __syncthreads();
  if (i < n) out[i] = tile[255 - threadIdx.x];
}

__global__ void read_table(float* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = known_table[i];
}

// Only some threads of each warp get here, in two ways.
__global__ void divergent(const float* a, float* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (threadIdx.x % 3 == 0) {
    out[i * 128] = 1.0F;
  } else if (threadIdx.x % 3 == 1) {
    out[i * 128] = a[i * 128];
  }
}

// Bulk copies of Hopper, `bytes` per block, to shared memory and on to `out`.
__global__ void bulk_copy(const char* in, char* out, unsigned bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) char buffer[];
  __shared__ __align__(8) unsigned long long barrier;
  if (threadIdx.x != 0) return;
  const auto shared = static_cast<std::uint32_t>(__cvta_generic_to_shared(buffer));
  const auto gate = static_cast<std::uint32_t>(__cvta_generic_to_shared(&barrier));
  const char* const from = in + static_cast<std::uint64_t>(blockIdx.x) * bytes;
  char* const to = out + static_cast<std::uint64_t>(blockIdx.x) * bytes;
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(gate) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1; }" ::"r"(gate), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(gate)
               : "memory");
  std::uint32_t done = 0;
  while (done == 0) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(gate)
                 : "memory");
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)),
               "r"(shared), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
}

// Each thread allocates from the device's heap and writes there; the pointers come back for the comparison.
__global__ void heap_write(unsigned** pointers) {
  auto* const mine = static_cast<unsigned*>(malloc(1024));
  pointers[threadIdx.x] = mine;
  if (mine != nullptr) mine[0] = threadIdx.x;
}

__global__ void heap_read(unsigned** pointers, unsigned* out) { out[threadIdx.x] = *pointers[threadIdx.x]; }

}  // extern "C"
