// SPDX-License-Identifier: Apache-2.0
// Computes the time that the host spent between its calls.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tracer/merge/event.h"

namespace uvmtrace {

// The trace is replayed by one host thread, so only time in which no thread of the program was in a call counts: from
// the end of all earlier calls to the beginning of this one. Gaps before calls whose records have no gap (allocations,
// tensors, ranges) go to the next record that has one. The durations of calls never count.
class HostGaps {
 public:
  void call(const Event& event) {
    if (event.begin_ns == 0) return;
    if (quiet_since_ != 0 && event.begin_ns > quiet_since_) pending_ += event.begin_ns - quiet_since_;
    quiet_since_ = std::max(quiet_since_, event.end_ns);
  }

  std::int64_t take() { return std::exchange(pending_, 0); }

 private:
  std::int64_t quiet_since_ = 0;
  std::int64_t pending_ = 0;  // not larger than the last time of the log
};

}  // namespace uvmtrace
