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
  std::uint64_t ticket = 0;
  std::uint32_t subject = 0;
  bool is_sm = false;
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
  Nanoseconds next_time() { return peek()->time; }
  AgendaEvent pop() {
    const AgendaEvent event = *peek();
    if (best_ == kLanes) {
      heap_.pop();
    } else {
      rings_[best_].pop();
    }
    --size_;
    return event;
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

   private:
    std::vector<AgendaEvent> events_;
    std::size_t head_ = 0;
  };
  struct Later {
    bool operator()(const AgendaEvent& a, const AgendaEvent& b) const { return b.before(a); }
  };

  const AgendaEvent* peek() {
    const AgendaEvent* best = nullptr;
    best_ = kLanes;
    if (!heap_.empty()) best = &heap_.top();
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (rings_[lane].empty()) continue;
      const AgendaEvent& front = rings_[lane].front();
      if (best != nullptr && !front.before(*best)) continue;
      best = &front;
      best_ = lane;
    }
    return best;
  }

  std::array<Ring, kLanes> rings_;
  std::priority_queue<AgendaEvent, std::vector<AgendaEvent>, Later> heap_;
  std::uint64_t sequence_ = 0;
  std::size_t size_ = 0;
  std::size_t best_ = kLanes;
};

}  // namespace uvmsim::engine
