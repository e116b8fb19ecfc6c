// SPDX-License-Identifier: Apache-2.0
// Numbers CUDA's stream handles by first use, so that both passes use the same numbers.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace uvmtrace {

class StreamNumbers {
 public:
  static StreamNumbers& instance() {
    static StreamNumbers* const numbers = new StreamNumbers;
    return *numbers;
  }

  // Returns 0 for the default stream under any of its three handles (null, legacy 1, per-thread 2).
  std::uint32_t number(std::uint64_t handle) {
    if (handle <= 2) return 0;
    const std::lock_guard lock(mutex_);
    return numbers_.try_emplace(handle, static_cast<std::uint32_t>(numbers_.size() + 1)).first->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
};

}  // namespace uvmtrace
