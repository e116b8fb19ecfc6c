// SPDX-License-Identifier: Apache-2.0
// A caching allocator that only reports the test's actions to its trackers.
#include <c10/cuda/CUDACachingAllocator.h>

#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace c10::cuda::CUDACachingAllocator {
namespace {
std::vector<AllocatorTraceTracker> trackers;

class Fake : public CUDAAllocator {
  void attachAllocatorTraceTracker(AllocatorTraceTracker tracker) override {
    if (std::getenv("FAKE_TORCH_REFUSES") != nullptr) throw std::runtime_error("this allocator has no trackers\ntrace");
    trackers.push_back(std::move(tracker));
  }
};
Fake fake;
}  // namespace

std::atomic<CUDAAllocator*> allocator{&fake};
}  // namespace c10::cuda::CUDACachingAllocator

// The device of all events of the allocator.
constexpr std::int8_t kDevice = 3;

extern "C" void fake_entry(int action, std::size_t address, std::size_t size, std::size_t stream) {
  using Entry = c10::cuda::CUDACachingAllocator::TraceEntry;
  const Entry entry{static_cast<Entry::Action>(action), kDevice, address, reinterpret_cast<void*>(stream), size};
  for (const auto& tracker : c10::cuda::CUDACachingAllocator::trackers) tracker(entry);
}
