// SPDX-License-Identifier: Apache-2.0
// Forwards the actions of PyTorch's caching allocator to the injection library. _build.py compiles this file on the
// user's machine against PyTorch's headers, which no other part of the tracer needs.
//
// A tracker runs inside the allocator's lock: it must not call PyTorch.
#include <c10/cuda/CUDACachingAllocator.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <string>

namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

struct Calls {
  void (*tensor_alloc)(std::uint64_t va, std::uint64_t requested_bytes, std::uint64_t stream);
  void (*tensor_free)(std::uint64_t va);
  void (*tensor_free_done)(std::uint64_t va);
  void (*segment_alloc)(std::uint64_t va, std::uint64_t bytes, std::uint64_t stream, std::uint32_t device);
  void (*segment_free)(std::uint64_t va, std::uint64_t bytes);
  void (*iteration)(std::uint64_t index, int begin);
};
Calls calls;

constexpr std::uint64_t kNone = ~std::uint64_t{0};
std::atomic<std::uint64_t> iteration_to_begin{kNone};

template <typename Handle>
std::uint64_t number_of(Handle handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

void on_entry(const allocator::TraceEntry& entry) {
  using Entry = allocator::TraceEntry;
  const auto va = static_cast<std::uint64_t>(entry.addr_);
  const auto bytes = static_cast<std::uint64_t>(entry.size_);  // of tensors: as requested, not as rounded
  switch (entry.action_) {
    case Entry::ALLOC:
      if (const std::uint64_t index = iteration_to_begin.exchange(kNone); index != kNone) calls.iteration(index, 1);
      calls.tensor_alloc(va, bytes, number_of(entry.stream_));
      break;
    case Entry::FREE_REQUESTED:
      calls.tensor_free(va);
      break;
    case Entry::FREE_COMPLETED:
      calls.tensor_free_done(va);  // at once, or when other streams have finished using the tensor
      break;
    case Entry::SEGMENT_ALLOC:
      calls.segment_alloc(va, bytes, number_of(entry.stream_), static_cast<std::uint32_t>(entry.device_));
      break;
    case Entry::SEGMENT_FREE:
      calls.segment_free(va, bytes);
      break;
    default:
      break;
  }
}

}  // namespace

extern "C" {

// `functions` are in the order of Calls. Returns nullptr, or an error.
const char* uvmtrace_torch_attach(void* const* functions, std::uint32_t count) {
  static std::string failure;
  if (count != sizeof(Calls) / sizeof(void*)) return "helper and library do not belong together";
  const auto take = [&](auto& function, std::uint32_t index) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(functions[index]);
  };
  take(calls.tensor_alloc, 0);
  take(calls.tensor_free, 1);
  take(calls.tensor_free_done, 2);
  take(calls.segment_alloc, 3);
  take(calls.segment_free, 4);
  take(calls.iteration, 5);
  try {
    allocator::get()->attachAllocatorTraceTracker(on_entry);
  } catch (const std::exception& error) {
    failure = error.what();
    return failure.c_str();
  }
  return nullptr;
}

void uvmtrace_torch_begin_at_allocation(std::uint64_t index) { iteration_to_begin = index; }

int uvmtrace_torch_still_waits() { return iteration_to_begin.exchange(kNone) != kNone ? 1 : 0; }

}  // extern "C"
