// SPDX-License-Identifier: Apache-2.0
// The limit on managed memory of this program: at most half of the free memory. With more managed memory than the card
// has free, the driver would evict, and on a shared machine hang other people's work.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace uvmtrace::ground_truth {

inline constexpr std::uint32_t kDefaultSharePercent = 25;
inline constexpr std::uint32_t kLargestSharePercent = 50;

// An allocation would have exceeded the budget.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ManagedBudget {
 public:
  // `share_percent` of the free device memory may be used: from 1 to kLargestSharePercent; larger values count as the
  // largest.
  explicit ManagedBudget(std::uint32_t share_percent = kDefaultSharePercent);

  // Returns in one line why `bytes` more must not be allocated if the device has `free_device_bytes` free and the host
  // `free_host_bytes`; empty if they may. Memory allocated before counts in full, resident or not.
  std::string refusal(std::uint64_t bytes, std::uint64_t free_device_bytes, std::uint64_t free_host_bytes) const;

  void allocated(std::uint64_t bytes) { live_bytes_ += bytes; }
  void freed(std::uint64_t bytes) { live_bytes_ -= bytes < live_bytes_ ? bytes : live_bytes_; }
  std::uint64_t live_bytes() const { return live_bytes_; }

 private:
  std::uint32_t share_percent_;
  std::uint64_t live_bytes_ = 0;
};

}  // namespace uvmtrace::ground_truth
