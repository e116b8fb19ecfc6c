// SPDX-License-Identifier: Apache-2.0
// Memory for remote_calls.py, as a pluggable allocator of PyTorch: on the GPU, or pinned memory of the host that the
// GPU reads and writes in place. Freed memory is kept for the next allocation of the same size and place, because
// pinning memory takes some 0.4 ms per MB, many times as long as a kernel takes to fill it.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace {

struct State {
  std::mutex mutex;
  int place = 0;  // 0: the GPU, 1: the host
  std::map<std::pair<int, std::size_t>, std::vector<void*>> kept;
  std::map<void*, int> place_of;
};

State& state() {
  static State instance;
  return instance;
}

}  // namespace

extern "C" {

void placed_put_on(int place) {
  const std::lock_guard lock(state().mutex);
  state().place = place;
}

void* placed_allocate(std::size_t bytes, int /*device*/, void* /*stream*/) {
  if (bytes == 0) return nullptr;
  State& shared = state();
  const std::lock_guard lock(shared.mutex);
  std::vector<void*>& kept = shared.kept[{shared.place, bytes}];
  void* memory = nullptr;
  if (!kept.empty()) {
    memory = kept.back();
    kept.pop_back();
  } else {
    const cudaError_t status =
        shared.place == 0 ? cudaMalloc(&memory, bytes) : cudaHostAlloc(&memory, bytes, cudaHostAllocMapped);
    if (status != cudaSuccess) return nullptr;
  }
  shared.place_of[memory] = shared.place;
  return memory;
}

void placed_release(void* memory, std::size_t bytes, int /*device*/, void* /*stream*/) {
  if (memory == nullptr) return;
  State& shared = state();
  const std::lock_guard lock(shared.mutex);
  shared.kept[{shared.place_of.at(memory), bytes}].push_back(memory);
}

// Frees the memory that is kept for reuse.
void placed_trim() {
  State& shared = state();
  const std::lock_guard lock(shared.mutex);
  for (auto& [key, kept] : shared.kept) {
    for (void* memory : kept) {
      shared.place_of.erase(memory);
      if (key.first == 0) {
        cudaFree(memory);
      } else {
        cudaFreeHost(memory);
      }
    }
    kept.clear();
  }
}

}  // extern "C"
