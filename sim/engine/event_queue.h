// SPDX-License-Identifier: Apache-2.0
// The event queue of a run: events in order of time; events of equal times come in order of scheduling.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "sim/common/check.h"
#include "sim/common/time_limit.h"
#include "sim/common/units.h"

namespace uvmsim::engine {

enum class EventKind : std::uint8_t { kHost, kStreamStart, kOperationEnd, kFetch, kReplay, kPlan, kPrefetch, kSlice };

struct Event {
  Nanoseconds time{};
  std::uint64_t sequence = 0;
  EventKind kind = EventKind::kHost;
  std::uint16_t program = 0;  // owner of the host or stream
  std::uint32_t subject = 0;  // stream or GPU
};

class EventQueue {
 public:
  // Throws InputError for a time beyond the end of simulated time (time_limit.h).
  void schedule(Nanoseconds time, EventKind kind, std::uint32_t subject = 0, std::uint16_t program = 0) {
    UVMSIM_CHECK(time >= now_, "an event at {} ns is in the past of {} ns", time.value, now_.value);
    events_.push({before_end_of_time(time), next_sequence_++, kind, program, subject});
  }
  bool empty() const { return events_.empty(); }
  // Returns the time of the next event; INT64_MAX if there is none.
  Nanoseconds next_time() const { return events_.empty() ? Nanoseconds(INT64_MAX) : events_.top().time; }
  std::size_t size() const { return events_.size(); }
  Event pop() {
    const Event event = events_.top();
    events_.pop();
    now_ = event.time;
    return event;
  }
  Nanoseconds now() const { return now_; }

 private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
    }
  };
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  std::uint64_t next_sequence_ = 0;
  Nanoseconds now_{};
};

}  // namespace uvmsim::engine
