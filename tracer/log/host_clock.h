// SPDX-License-Identifier: Apache-2.0
// The clock of host events: CLOCK_REALTIME in ns, which CUPTI's GPU times are converted to on Linux (CUPTI 13
// documentation). The access pass has no meaningful times and switches it off.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include "tracer/log/json_line.h"

namespace uvmtrace {

inline std::atomic<bool>& host_times_wanted() {
  static std::atomic<bool> wanted{true};
  return wanted;
}

inline std::int64_t host_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// Adds begin_ns and end_ns of a call; end 0 means now.
inline void put_times(JsonLine& line, std::int64_t begin_ns = 0, std::int64_t end_ns = 0) {
  if (!host_times_wanted().load(std::memory_order_relaxed)) return;
  const std::int64_t end = end_ns != 0 ? end_ns : host_now_ns();
  line.number("begin_ns", begin_ns != 0 ? begin_ns : end).number("end_ns", end);
}

}  // namespace uvmtrace
