// SPDX-License-Identifier: Apache-2.0
// The part of PyTorch's header that the helper uses, with the same names and types.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace c10::CachingDeviceAllocator {
struct TraceEntry {
  enum Action {
    ALLOC,
    FREE_REQUESTED,
    FREE_COMPLETED,
    SEGMENT_ALLOC,
    SEGMENT_FREE,
    SEGMENT_MAP,
    SEGMENT_UNMAP,
    SNAPSHOT,
    OOM
  };
  Action action_;
  std::int8_t device_;
  std::size_t addr_;
  void* stream_;
  std::size_t size_;
};
using AllocatorTraceTracker = std::function<void(const TraceEntry&)>;
}  // namespace c10::CachingDeviceAllocator

namespace c10::cuda::CUDACachingAllocator {
using namespace c10::CachingDeviceAllocator;

class CUDAAllocator {
 public:
  virtual ~CUDAAllocator() = default;
  virtual void attachAllocatorTraceTracker(AllocatorTraceTracker tracker) = 0;
};
extern std::atomic<CUDAAllocator*> allocator;
inline CUDAAllocator* get() { return allocator.load(); }
}  // namespace c10::cuda::CUDACachingAllocator
