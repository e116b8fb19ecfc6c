// SPDX-License-Identifier: Apache-2.0
// Device functions that patched instructions call before they run. `userdata` is the launch's Marks; null when it is not
// recorded.
#include "tracer/access/mark.h"

#ifdef UVMTRACE_HAVE_SANITIZER
#include <sanitizer_patching.h>
#else
#include "tracer/access/patch_abi.h"
#endif

namespace {

using uvmtrace::access::kRead;
using uvmtrace::access::kWrite;
using uvmtrace::access::Marks;

// The functions run in the threads of the warp that execute the instruction, so every election is among the active
// threads. Loads go through the first-level cache: a stale word only causes one more atomic operation.
struct Gpu {
  static __device__ __forceinline__ std::uint32_t load(std::uint64_t address) {
    return __ldca(reinterpret_cast<const std::uint32_t*>(address));
  }
  static __device__ __forceinline__ std::uint64_t load_entry(std::uint64_t address) {
    return __ldg(reinterpret_cast<const unsigned long long*>(address));
  }
  static __device__ __forceinline__ std::uint32_t set(std::uint64_t address, std::uint32_t bits) {
    return atomicOr(reinterpret_cast<std::uint32_t*>(address), bits);
  }
  static __device__ __forceinline__ std::uint32_t add(std::uint64_t address, std::uint32_t n) {
    return atomicAdd(reinterpret_cast<std::uint32_t*>(address), n);
  }
  static __device__ __forceinline__ std::uint64_t add_wide(std::uint64_t address, std::uint64_t n) {
    return atomicAdd(reinterpret_cast<unsigned long long*>(address), n);
  }
  static __device__ __forceinline__ std::uint32_t lane() {
    std::uint32_t lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
  }
  static __device__ __forceinline__ bool elect(std::uint64_t key) {
    const std::uint32_t same = __match_any_sync(__activemask(), static_cast<unsigned long long>(key));
    return __ffs(static_cast<int>(same)) - 1 == static_cast<int>(lane());
  }
  static __device__ __forceinline__ bool elect_counted(std::uint32_t* threads) {
    const std::uint32_t here = __activemask();
    *threads = static_cast<std::uint32_t>(__popc(here));
    return __ffs(static_cast<int>(here)) - 1 == static_cast<int>(lane());
  }
  static __device__ __forceinline__ std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
    return __umul64hi(a, b);
  }
  static __device__ __forceinline__ std::uint64_t grid() {
    std::uint64_t number;
    asm("mov.u64 %0, %%gridid;" : "=l"(number));
    return number;
  }
};

__device__ __forceinline__ std::uint64_t linear_block() {
  return blockIdx.x + std::uint64_t{gridDim.x} * (blockIdx.y + std::uint64_t{gridDim.y} * blockIdx.z);
}

__device__ __forceinline__ void mark_global(void* userdata, std::uint64_t address, std::uint64_t bytes,
                                            std::uint32_t mode) {
  if (mode == 0) return;
  Marks* const marks = uvmtrace::access::marks_of_grid<Gpu>(static_cast<Marks*>(userdata));
  if (marks != nullptr) uvmtrace::access::mark<Gpu>(marks, address, bytes, mode, linear_block());
}

}  // namespace

extern "C" {

__device__ __noinline__ SanitizerPatchResult uvmtrace_memory_access(void* userdata, std::uint64_t, void* address,
                                                                    std::uint32_t bytes, std::uint32_t flags,
                                                                    const void*) {
  const std::uint32_t mode = (flags & SANITIZER_MEMORY_DEVICE_FLAG_PREFETCH) != 0 ? 0 : flags & (kRead | kWrite);
  mark_global(userdata, reinterpret_cast<std::uint64_t>(address), bytes, mode);
  return SANITIZER_PATCH_SUCCESS;
}

__device__ __noinline__ SanitizerPatchResult uvmtrace_memcpy_async(void* userdata, std::uint64_t, void* source,
                                                                   std::uint32_t, std::uint32_t bytes) {
  // If the source is null, the copy only writes zeros to shared memory.
  mark_global(userdata, reinterpret_cast<std::uint64_t>(source), bytes, source == nullptr ? 0 : kRead);
  return SANITIZER_PATCH_SUCCESS;
}

// Bulk copies count blocks of 16 bytes, in the low 16 bits; the rest is a mask.
__device__ __noinline__ SanitizerPatchResult uvmtrace_bulk_load(void* userdata, std::uint64_t, std::uint64_t source,
                                                                std::uint32_t, std::uint32_t, std::uint32_t data,
                                                                std::uint32_t) {
  mark_global(userdata, source, std::uint64_t{data & 0xffff} * 16, kRead);
  return SANITIZER_PATCH_SUCCESS;
}

__device__ __noinline__ SanitizerPatchResult uvmtrace_bulk_store(void* userdata, std::uint64_t, std::uint64_t target,
                                                                 std::uint32_t, std::uint32_t data) {
  mark_global(userdata, target, std::uint64_t{data & 0xffff} * 16, kWrite);
  return SANITIZER_PATCH_SUCCESS;
}

__device__ __noinline__ SanitizerPatchResult uvmtrace_bulk_reduce(void* userdata, std::uint64_t, std::uint64_t target,
                                                                  std::uint32_t, std::uint32_t data) {
  mark_global(userdata, target, std::uint64_t{data & 0xffff} * 16, kRead | kWrite);
  return SANITIZER_PATCH_SUCCESS;
}

__device__ __noinline__ SanitizerPatchResult uvmtrace_device_malloc(void* userdata, std::uint64_t, void* address,
                                                                    std::uint64_t bytes) {
  Marks* const marks = uvmtrace::access::marks_of_grid<Gpu>(static_cast<Marks*>(userdata));
  if (marks == nullptr || address == nullptr) return SANITIZER_PATCH_SUCCESS;
  const auto begin = reinterpret_cast<unsigned long long>(address);
  atomicMin(reinterpret_cast<unsigned long long*>(&marks->heap_low), begin);
  atomicMax(reinterpret_cast<unsigned long long*>(&marks->heap_high), begin + bytes);
  return SANITIZER_PATCH_SUCCESS;
}

}  // extern "C"
