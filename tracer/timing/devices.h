// SPDX-License-Identifier: Apache-2.0
// The GPU of each context, by CUPTI's small context numbers. Lock-free, because every call needs it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace uvmtrace {

inline std::array<std::atomic<std::uint32_t>, 256>& context_devices() {
  static std::array<std::atomic<std::uint32_t>, 256> devices{};
  return devices;
}

// Contexts beyond those that fit count as being on GPU 0; CUPTI numbers them from 1 on.
inline std::uint32_t device_of_context(std::uint32_t context) {
  return context < context_devices().size() ? context_devices()[context].load(std::memory_order_relaxed) : 0;
}
inline void set_device_of_context(std::uint32_t context, std::uint32_t device) {
  if (context < context_devices().size()) context_devices()[context].store(device, std::memory_order_relaxed);
}

}  // namespace uvmtrace
