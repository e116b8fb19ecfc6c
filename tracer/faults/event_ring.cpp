// SPDX-License-Identifier: Apache-2.0
#include "tracer/faults/event_ring.h"

#include <atomic>

namespace uvmtrace::faults {

void EventRing::drain(DriverEvents& events) {
  const std::uint32_t put = control_->put_behind & mask_;
  std::atomic_thread_fence(std::memory_order_acquire);
  std::uint32_t get = control_->get_behind & mask_;
  if (get == put) return;
  for (; get != put; get = (get + 1) & mask_) add_entry(memory_ + std::size_t{get} * kEntryBytes, events);
  std::atomic_thread_fence(std::memory_order_release);
  control_->get_ahead = put;
  control_->get_behind = put;
}

std::uint64_t EventRing::take_dropped() {
  std::uint64_t sum = 0;
  for (const volatile std::uint64_t& count : control_->dropped) sum += count;
  const std::uint64_t since = sum - dropped_before_;
  dropped_before_ = sum;
  return since;
}

}  // namespace uvmtrace::faults
