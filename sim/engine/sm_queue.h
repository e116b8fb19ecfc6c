// SPDX-License-Identifier: Apache-2.0
// What an SM of a kernel in progress has in hand: what its load/store unit takes next, and what missed.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/common/units.h"
#include "sim/gpu/sm_requests.h"

namespace uvmsim::engine {

using gpu::kNever;

// Accesses to consecutive pages, of the part that is being taken.
struct Untaken {
  std::uint32_t block = 0;
  std::uint16_t first = 0, count = 0;
  std::uint16_t requests = 1;  // to each page
  std::uint16_t left = 1;      // of them to the first
  std::uint16_t per_instruction = 1;
  bool write = false;
  bool scattered = false;
};

// A part of a lane: all its loads or all its stores of a step.
struct Turn {
  Nanoseconds ready{};  // when the lane makes them
  std::uint32_t lane = 0;
};

class SmQueue {
 public:
  gpu::SmRequests requests;
  bool blocked = false;   // nothing passes any more until the next replay
  Nanoseconds now{};      // its load/store unit is free from then on
  Nanoseconds resumed{};  // it goes on since then
  bool passed = false;    // an access passed since the last replay
  // The part at the head of the queue: what of it is neither taken nor known to be mapped.
  bool taking = false;
  bool mixed = false;  // `rest` holds single pages, taken instruction by instruction in no order
  std::uint64_t draws = 0;
  std::size_t next_rest = 0;
  Turn taken;
  std::vector<Untaken> rest;
  // Lanes that begin their next unit, ascending in time.
  std::vector<Turn> starts;

  void add(const Turn& turn) {
    std::uint32_t place = end_++;
    for (; place != begin_ && at(place - 1).ready > turn.ready; --place) at(place) = at(place - 1);
    at(place) = turn;
  }
  void add_start(const Turn& turn) {
    auto place = starts.end();
    while (place != starts.begin() && (place - 1)->ready > turn.ready) --place;
    starts.insert(place, turn);
  }
  // When the head of the queue is ready.
  Nanoseconds next_ready() const { return begin_ == end_ ? kNever : at(begin_).ready; }
  // The part at the head of the queue, if none is being taken; it must be there.
  const Turn& next() const { return at(begin_); }
  // It passes as a whole.
  void skip() { ++begin_; }
  // Begins with it; `rest` says what of it is left.
  void take() {
    taken = at(begin_);
    skip();
    taking = true;
    mixed = false;
    next_rest = 0;
  }
  // Warps come back from their last loads one by one, in no order.
  void mix() {
    mixed = true;
    const std::size_t runs = rest.size();
    for (std::size_t i = 0; i < runs; ++i) {
      for (; rest[i].count > 1; --rest[i].count) {
        Untaken page = rest[i];
        page.first = static_cast<std::uint16_t>(page.first + page.count - 1);
        page.count = 1;
        page.left = page.requests;
        rest.push_back(page);
      }
    }
  }
  // Parts that are ready at `time`, the one being taken not among them; not more than `most` are counted.
  std::uint32_t waiting(Nanoseconds time, std::uint32_t most) const {
    std::uint32_t count = 0;
    while (count < most && begin_ + count != end_ && at(begin_ + count).ready <= time) ++count;
    return count;
  }
  template <class F>
  void for_each_waiting(F&& f) const {
    for (std::uint32_t place = begin_; place != end_; ++place) f(at(place));
  }
  // Resets all but the memory of the queues, for that many lanes.
  void reset(std::uint32_t lanes) {
    requests.reset();
    blocked = taking = false;
    now = Nanoseconds{};
    passed = false;
    next_rest = 0;
    mixed = false;
    draws = 0;
    rest.clear();
    starts.clear();
    if (ring_.size() < lanes) ring_.resize(std::bit_ceil(lanes));
    mask_ = static_cast<std::uint32_t>(ring_.size() - 1);
    begin_ = end_ = 0;
  }

 private:
  // Positions count up for ever; a place of the ring is a position modulo its size, a power of two.
  Turn& at(std::uint32_t position) { return ring_[position & mask_]; }
  const Turn& at(std::uint32_t position) const { return ring_[position & mask_]; }

  std::vector<Turn> ring_;  // what waits, at most one part of each lane, ascending in `ready`
  std::uint32_t begin_ = 0, end_ = 0;
  std::uint32_t mask_ = 0;
};

}  // namespace uvmsim::engine
