// SPDX-License-Identifier: Apache-2.0
// Measures how much of each GPU's memory the process takes, by driver call.
//
// The driver reports how much of a GPU is free. This is read when a call of the program has returned, and the change
// since the previous reading belongs to that call: to cuLibraryLoadData when code is loaded, to cuLaunchKernel when a
// kernel needs local memory. Memory that pools hold back counts as free, because their tensors are recorded as such.
//
// While another thread's call is in progress, its effect cannot be attributed. Therefore nothing is read while another
// thread allocates, nor, if there are pools (which change in many calls), while another thread is in any call: the next
// reading includes both.
//
// A reading covers the whole GPU. It is also compared while no call runs: changes at such times are not caused by this
// process.
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

  // Called from CUPTI's callback at begin and end of every driver call.
  void on_call(CUpti_CallbackId id, const CUpti_CallbackData& data);

 private:
  struct Reading {
    std::uint32_t device = 0;
    std::int64_t free_bytes = 0;
  };
  // Returns nothing if the thread has no context.
  std::optional<Reading> read();
  // The driver returns a pool's memory in a separate thread, after the pool has reported it. If there are pools, a
  // change therefore counts only if a later reading agrees.
  std::optional<Reading> read_settled();
  std::int64_t held_by_pools(CUdevice device);
  // `call`: the call that has just returned; empty while no call runs.
  void compare(std::string_view call, bool allocates);
  void note_pool(CUpti_CallbackId id, const CUpti_CallbackData& data);
  void forget_pool(const CUpti_CallbackData& data);
  static void note_managed(const CUpti_CallbackData& data);

  static constexpr std::size_t kMostDevices = 64;

  std::atomic<std::int64_t> running_calls_{0};
  std::atomic<std::int64_t> running_allocations_{0};  // of them, those that allocate
  std::atomic<std::uint64_t> calls_begun_{0};
  std::mutex mutex_;  // guards what follows
  std::array<std::optional<std::int64_t>, kMostDevices> free_bytes_{};
  std::array<std::vector<CUmemoryPool>, kMostDevices> pools_{};
};

}  // namespace uvmtrace
