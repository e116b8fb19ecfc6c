// SPDX-License-Identifier: Apache-2.0
// What an SM of a kernel in progress has in hand: what its load/store unit takes next, and what missed.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
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

// A part of a resident: all its loads or all its stores of a step.
struct Turn {
  Nanoseconds ready{};  // when the resident makes them
  std::uint32_t resident = 0;
};

// Turns in order of time; of equal times the one that was added first comes first.
class TurnQueue {
 public:
  bool empty() const { return begin_ == end_; }
  std::uint32_t size() const { return end_ - begin_; }
  const Turn& front() const { return at(begin_); }
  const Turn& operator[](std::uint32_t index) const { return at(begin_ + index); }
  // Returns when the first turn is due; kNever if there is none.
  Nanoseconds next_ready() const { return empty() ? kNever : front().ready; }
  void add(const Turn& turn) {
    std::uint32_t place = end_++;
    for (; place != begin_ && at(place - 1).ready > turn.ready; --place) at(place) = at(place - 1);
    at(place) = turn;
  }
  void pop() { ++begin_; }
  // Removes all turns and makes room for `most`.
  void reset(std::uint32_t most) {
    if (ring_.size() < most) ring_.resize(std::bit_ceil(most));
    mask_ = static_cast<std::uint32_t>(ring_.size() - 1);
    begin_ = end_ = 0;
  }

 private:
  // Positions count up for ever; a place of the ring is a position modulo its size, a power of two.
  Turn& at(std::uint32_t position) { return ring_[position & mask_]; }
  const Turn& at(std::uint32_t position) const { return ring_[position & mask_]; }

  std::vector<Turn> ring_;
  std::uint32_t begin_ = 0, end_ = 0;
  std::uint32_t mask_ = 0;
};

class SmQueue {
 public:
  TurnQueue parts;       // that wait, at most one of each resident
  TurnQueue starts;      // residents that begin their next unit
  bool blocked = false;  // nothing passes any more until the next replay
  bool passed = false;   // an access passed since the last replay
  // The part at the head of the queue: what of it is neither taken nor known to be mapped.
  bool taking = false;
  bool mixed = false;     // `rest` holds single pages, taken instruction by instruction in no order
  Nanoseconds now{};      // its load/store unit is free from then on
  Nanoseconds resumed{};  // it goes on since then
  gpu::SmRequests requests;
  Turn taken;
  std::size_t next_rest = 0;
  std::vector<Untaken> rest;
  std::uint64_t draws = 0;

  // Begins with the part at the head of the queue; `rest` says what of it is left.
  void take() {
    taken = parts.front();
    parts.pop();
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
    most = std::min(most, parts.size());
    std::uint32_t count = 0;
    while (count < most && parts[count].ready <= time) ++count;
    return count;
  }
  // Resets all but the memory of the queues, for that many residents.
  void reset(std::uint32_t residents) {
    requests.reset();
    blocked = taking = false;
    now = Nanoseconds{};
    passed = false;
    next_rest = 0;
    mixed = false;
    draws = 0;
    rest.clear();
    starts.reset(residents);
    parts.reset(residents);
  }
};

}  // namespace uvmsim::engine
