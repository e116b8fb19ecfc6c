// SPDX-License-Identifier: Apache-2.0
// What the process takes of each GPU's memory, by driver call.
//
// The driver tells how much of a GPU is free. It is read when a call of the program has returned, and what changed
// since the reading before belongs to that call: to cuLibraryLoadData when code is loaded, to cuLaunchKernel when a
// kernel needs local memory. Memory that pools hold back counts as free, since its tensors are recorded as such.
//
// What another thread's call has done in part belongs to nobody yet. So nothing is read while another thread allocates,
// and where there are pools, which change in many calls, while another thread is in a call: the next reading sees both.
//
// A reading is of the whole GPU. While no call runs, it is compared too: what changes then is no work of this process.
#pragma once

#include <cuda.h>
#include <cupti.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace uvmtrace {

class MemoryMeter {
 public:
  static MemoryMeter& instance();

  // Called from CUPTI's callback at both sites of every driver call.
  void on_call(CUpti_CallbackId id, const CUpti_CallbackData& data);

 private:
  struct Reading {
    std::uint32_t device = 0;
    std::int64_t free_bytes = 0;
  };
  // Empty where the thread has no context.
  std::optional<Reading> read();
  // The driver gives a pool's memory back in a thread of its own, and the pool says so first. So a change is believed,
  // where there are pools, when a later reading agrees.
  std::optional<Reading> read_settled();
  std::int64_t held_by_pools(CUdevice device);
  // `call`: the one that has just returned; empty while none runs.
  void compare(std::string_view call, bool allocates);
  void note_pool(CUpti_CallbackId id, const CUpti_CallbackData& data);
  void forget_pool(const CUpti_CallbackData& data);
  static void note_managed(const CUpti_CallbackData& data);

  static constexpr std::size_t kMostDevices = 64;

  std::atomic<std::int64_t> running_calls_{0};
  std::atomic<std::int64_t> running_allocations_{0};  // of them
  std::atomic<std::uint64_t> calls_begun_{0};
  std::mutex mutex_;  // guards what follows
  std::array<std::optional<std::int64_t>, kMostDevices> free_bytes_{};
  std::array<std::vector<CUmemoryPool>, kMostDevices> pools_{};
};

}  // namespace uvmtrace
