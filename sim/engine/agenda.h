// The events of one kernel in order of time, equal times in order of scheduling.
//
// Most events lie one of a few fixed delays ahead of the present, so those of one delay come in order by themselves and
// need a queue only; what comes out of order goes to a heap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

#include "sim/common/units.h"

namespace uvmsim::engine {

struct AgendaEvent {
  Nanoseconds time{};
  std::uint64_t sequence = 0;
  std::uint32_t ticket = 0;
  std::uint32_t subject : 31 = 0;
  std::uint32_t is_sm : 1 = 0;
  bool before(const AgendaEvent& o) const { return time != o.time ? time < o.time : sequence < o.sequence; }
};

class Agenda {
 public:
  static constexpr std::size_t kLanes = 3;  // delays with a queue of their own

  void add(std::size_t lane, AgendaEvent event) {
    event.sequence = sequence_++;
    Ring& ring = rings_[lane];
    if (!ring.empty() && event.before(ring.back())) {
      heap_.push(event);
    } else {
      ring.push(event);
    }
    ++size_;
  }
  bool empty() const { return size_ == 0; }
  // Takes the first event unless it is later than `until`.
  bool pop(AgendaEvent& event, Nanoseconds until) {
    if (size_ == 0) return false;
    const AgendaEvent* best = heap_.empty() ? nullptr : &heap_.top();
    std::size_t source = kLanes;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (rings_[lane].empty()) continue;
      const AgendaEvent& front = rings_[lane].front();
      if (best != nullptr && !front.before(*best)) continue;
      best = &front;
      source = lane;
    }
    if (best->time > until) return false;
    event = *best;
    if (source == kLanes) {
      heap_.pop();
    } else {
      rings_[source].pop();
    }
    --size_;
    return true;
  }
  // Forgets everything; memory is kept.
  void clear() {
    for (Ring& ring : rings_) ring.clear();
    while (!heap_.empty()) heap_.pop();
    sequence_ = 0;
    size_ = 0;
  }

 private:
  class Ring {
   public:
    bool empty() const { return head_ == events_.size(); }
    const AgendaEvent& front() const { return events_[head_]; }
    const AgendaEvent& back() const { return events_.back(); }
    void push(const AgendaEvent& event) {
      if (head_ == events_.size()) {
        events_.clear();
        head_ = 0;
      } else if (head_ > 4096 && head_ * 2 > events_.size()) {
        events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(head_));
        head_ = 0;
      }
      events_.push_back(event);
    }
    void pop() { ++head_; }
    void clear() {
      events_.clear();
      head_ = 0;
    }

   private:
    std::vector<AgendaEvent> events_;
    std::size_t head_ = 0;
  };
  struct Later {
    bool operator()(const AgendaEvent& a, const AgendaEvent& b) const { return b.before(a); }
  };

  std::array<Ring, kLanes> rings_;
  std::priority_queue<AgendaEvent, std::vector<AgendaEvent>, Later> heap_;
  std::uint64_t sequence_ = 0;
  std::size_t size_ = 0;
};

}  // namespace uvmsim::engine
