// SPDX-License-Identifier: Apache-2.0
#include "tracer/ground_truth/managed_budget.h"

#include <algorithm>

namespace uvmtrace::ground_truth {

ManagedBudget::ManagedBudget(std::uint32_t share_percent)
    : share_percent_(std::clamp(share_percent, 1u, kLargestSharePercent)) {}

std::string ManagedBudget::refusal(std::uint64_t bytes, std::uint64_t free_device_bytes,
                                   std::uint64_t free_host_bytes) const {
  const auto exceeds = [&](std::uint64_t free_bytes, std::uint32_t percent) {
    const std::uint64_t allowed = free_bytes / 100 * percent;
    return bytes > allowed || live_bytes_ > allowed - bytes;
  };
  const std::string wanted = std::to_string(bytes) + " bytes of managed memory (" + std::to_string(live_bytes_) +
                             " are in use) would be more than ";
  if (exceeds(free_device_bytes, share_percent_)) {
    return wanted + std::to_string(share_percent_) + " % of the " + std::to_string(free_device_bytes) +
           " bytes that the GPU has free";
  }
  if (exceeds(free_host_bytes, kLargestSharePercent)) {
    return wanted + std::to_string(kLargestSharePercent) + " % of the " + std::to_string(free_host_bytes) +
           " bytes that the host has free";
  }
  return {};
}

}  // namespace uvmtrace::ground_truth
