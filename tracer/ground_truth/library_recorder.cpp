// SPDX-License-Identifier: Apache-2.0
// The CUDA functions for library_calls.py, as a library with C names: PyTorch allocates through it (a pluggable
// allocator), and it returns CUPTI's records of a call as JSON. One thread calls all of it except for the allocator's
// two functions.
//
// A call is made several times with the same allocations. After learn(), the next call shows them. prepare(place) makes
// them in advance, where `place` says, and they are handed out in order; memory that the call frees stays until
// release_all().
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracer/ground_truth/cupti_recorder.h"
#include "tracer/ground_truth/device.h"
#include "tracer/ground_truth/host_speed.h"

namespace uvmtrace::ground_truth {
namespace {

enum class Place : int { kNowhere = 0, kHost = 1, kGpu = 2 };

struct Block {
  void* memory = nullptr;
  std::size_t bytes = 0;
};

struct State {
  std::mutex mutex;
  ManagedBudget budget;
  // free memory when uvm_ask_once() was called; empty: it is queried at each allocation
  std::optional<FreeMemory> room;
  bool learning = false;
  std::vector<std::size_t> sizes;  // sizes of the call's allocations, in order
  std::vector<Block> prepared;
  std::unordered_map<void*, std::size_t> live;  // sizes of all live allocations, by address
  std::size_t handed_out = 0;
  bool surprised = false;  // the call requested other sizes than the previous one
  std::string text;        // the last returned text
};
State& state() {
  static State instance;
  return instance;
}

void* managed(std::size_t bytes) {
  State& shared = state();
  const FreeMemory room = shared.room ? *shared.room : free_memory();
  if (!shared.budget.refusal(bytes, room.device_bytes, room.host_bytes).empty()) return nullptr;
  void* memory = nullptr;
  if (cudaMallocManaged(&memory, bytes) != cudaSuccess) return nullptr;
  shared.budget.allocated(bytes);
  shared.live.emplace(memory, bytes);
  return memory;
}

void free_managed(void* memory) {
  State& shared = state();
  const auto found = shared.live.find(memory);
  if (found == shared.live.end()) return;
  cudaFree(memory);
  shared.budget.freed(found->second);
  shared.live.erase(found);
}

bool is_prepared(const void* memory) {
  for (const Block& block : state().prepared) {
    if (block.memory == memory) return true;
  }
  return false;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

template <class... Numbers>
std::string list(const Numbers&... numbers) {
  std::string out;
  ((out += (out.empty() ? "[" : ",") + std::to_string(numbers)), ...);
  return out + "]";
}

std::string to_json(const Recording& recording) {
  std::string out = "{\"dropped\":" + std::to_string(recording.dropped) + ",\"kernels\":[";
  for (const KernelRecord& kernel : recording.kernels) {
    if (out.back() != '[') out += ',';
    out += "{\"kernel\":" + quoted(kernel.name) + ",\"start_ns\":" + std::to_string(kernel.start_ns) +
           ",\"end_ns\":" + std::to_string(kernel.end_ns) +
           ",\"grid\":" + list(kernel.grid[0], kernel.grid[1], kernel.grid[2]) +
           ",\"block\":" + list(kernel.block[0], kernel.block[1], kernel.block[2]) +
           ",\"registers\":" + std::to_string(kernel.registers) +
           ",\"shared_bytes\":" + std::to_string(kernel.shared_bytes) + "}";
  }
  out += "],\"counters\":[";
  for (const CounterRecord& record : recording.counters) {
    if (out.back() != '[') out += ',';
    out += list(static_cast<std::uint32_t>(record.kind), record.start_ns, record.end_ns, record.address, record.value,
                record.flags);
  }
  return out + "]}";
}

}  // namespace
}  // namespace uvmtrace::ground_truth

using namespace uvmtrace::ground_truth;

extern "C" {

void* uvm_allocate(std::size_t bytes, int /*device*/, void* /*stream*/) {
  if (bytes == 0) return nullptr;
  State& shared = state();
  const std::lock_guard lock(shared.mutex);
  if (shared.learning) shared.sizes.push_back(bytes);
  if (shared.handed_out < shared.prepared.size()) {
    const Block& next = shared.prepared[shared.handed_out++];
    if (next.bytes == bytes) return next.memory;
    shared.surprised = true;
  }
  return managed(bytes);
}

void uvm_release(void* memory, std::size_t /*bytes*/, int /*device*/, void* /*stream*/) {
  State& shared = state();
  const std::lock_guard lock(shared.mutex);
  if (memory == nullptr || is_prepared(memory)) return;
  free_managed(memory);
}

// Creates the context of `device` and, if `record` is not 0, begins to record. Returns an empty text, or the error.
const char* uvm_start(int device, int record) {
  State& shared = state();
  try {
    open_device(device);
    shared.text = record != 0 ? start_recording(static_cast<std::uint32_t>(device), kNoPeer) : "";
  } catch (const std::exception& error) {
    shared.text = error.what();
  }
  return shared.text.c_str();
}

void uvm_learn() {
  State& shared = state();
  shared.learning = true;
  shared.sizes.clear();
}

// Returns how many allocations the next call will find, or -1.
int uvm_prepare(int place, int device) {
  State& shared = state();
  shared.learning = false;
  shared.surprised = false;
  shared.handed_out = 0;
  for (const std::size_t bytes : shared.sizes) {
    void* memory = managed(bytes);
    if (memory == nullptr) return -1;
    shared.prepared.push_back({memory, bytes});
    if (static_cast<Place>(place) == Place::kHost) std::memset(memory, 0, bytes);
    if (static_cast<Place>(place) == Place::kGpu) prefetch(static_cast<const char*>(memory), bytes, device);
  }
  return cudaDeviceSynchronize() == cudaSuccess ? static_cast<int>(shared.prepared.size()) : -1;
}

void uvm_move_to_host(const void* memory, std::size_t bytes) {
  constexpr int kHost = -1;
  if (bytes != 0) prefetch(static_cast<const char*>(memory), bytes, kHost);
}

// From now on allocations do not query the free memory: they count against the memory that is free now.
void uvm_ask_once() { state().room = free_memory(); }

// Moves all live allocations to the host. Returns their bytes.
unsigned long long uvm_move_all_to_host() {
  constexpr int kHost = -1;
  unsigned long long sum = 0;
  for (const auto& [memory, bytes] : state().live) {
    prefetch(static_cast<const char*>(memory), bytes, kHost);
    sum += bytes;
  }
  cudaDeviceSynchronize();
  return sum;
}

// Returns address and size of the i-th prepared allocation.
unsigned long long uvm_prepared_address(int i) {
  return reinterpret_cast<unsigned long long>(state().prepared.at(static_cast<std::size_t>(i)).memory);
}
unsigned long long uvm_prepared_bytes(int i) { return state().prepared.at(static_cast<std::size_t>(i)).bytes; }

// Returns whether the call took exactly these allocations.
int uvm_as_prepared() { return !state().surprised && state().handed_out == state().prepared.size() ? 1 : 0; }

void uvm_release_all() {
  State& shared = state();
  for (const Block& block : shared.prepared) free_managed(block.memory);
  shared.prepared.clear();
  shared.handed_out = 0;
}

// Returns the results of host_speed.h as JSON; valid until the next call.
const char* uvm_host_speed() {
  State& shared = state();
  shared.text = to_json(measure_host_speed());
  return shared.text.c_str();
}

// Returns CUPTI's records since the last call, as JSON; valid until the next call.
const char* uvm_take() {
  State& shared = state();
  shared.text = to_json(take_recording());
  return shared.text.c_str();
}

}  // extern "C"
