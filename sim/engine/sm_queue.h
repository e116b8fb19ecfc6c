// SPDX-License-Identifier: Apache-2.0
// The queue of an SM of a kernel in progress: accesses that missed, and those behind them.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sim/common/units.h"
#include "sim/memory/page_mask.h"

namespace uvmsim::engine {

// A time after all others.
inline constexpr Nanoseconds kNever{std::numeric_limits<std::int64_t>::max()};

// Accesses of some warps of a lane to one page, whose faults are outstanding. (Block numbers of 32 bits halve the
// size.)
struct Access {
  std::uint32_t block = 0;
  std::uint32_t lane = 0;
  std::uint16_t page = 0;
  std::uint16_t warps = 1;
  std::uint16_t raising = 1;  // warps that have raised their faults
  bool write = false;
  bool scattered = false;
  std::uint64_t index() const { return std::uint64_t{block} * kPagesPerBlock + page; }
};

// Accesses to consecutive pages, of the part that is being taken.
struct Untaken {
  std::uint32_t block = 0;
  std::uint16_t first = 0, count = 0;
  std::uint16_t warps = 1;
  bool write = false;
  bool scattered = false;
};

// A part of a lane: all its loads or all its stores of a step.
struct Turn {
  Nanoseconds ready{};  // when the lane makes them
  std::uint32_t lane = 0;
  std::uint32_t unit = 0;  // of the lane, modulo 2^32, as resident units are closer together
};

class SmQueue {
 public:
  static constexpr std::uint32_t kNoLane = ~std::uint32_t{0};

  bool scheduled = false;  // has an event, or is being served
  bool asleep = false;     // that event is the next part's readiness, at `wakes`
  bool blocked = false;
  // `taking` is true while the part `taken` is being taken from the head of the queue. From `next_rest` on, `rest` has
  // its accesses that are neither taken nor known to be mapped.
  bool taking = false;
  std::size_t next_rest = 0;
  Turn taken;
  std::vector<Untaken> rest;
  // Missed accesses. Those before `raised` have faults outstanding; those from `next_retry` on missed before the last
  // replay and are still to be retried; places in between are unused.
  std::vector<Access> missed;
  std::size_t raised = 0;
  std::size_t next_retry = 0;

  std::uint64_t last_page = ~std::uint64_t{0};
  std::uint32_t raw = 0;        // raw faults outstanding
  std::uint32_t new_warps = 0;  // warps that raised new faults since the last replay
  std::uint32_t new_lane = kNoLane;
  std::uint32_t epoch = 1;  // 1 + the replays that found something to do
  Nanoseconds wakes{};
  Nanoseconds next_block{};  // when it can start another thread block

  void add(const Turn& turn) {
    std::uint32_t place = end_++;
    for (; place != begin_ + issued_ && at(place - 1).ready > turn.ready; --place) at(place) = at(place - 1);
    at(place) = turn;
  }
  // Returns when the head of the queue can be served.
  Nanoseconds next_ready() const {
    if (taking) return taken.ready;
    return begin_ == end_ ? kNever : at(begin_).ready;
  }
  // Calls f(turn) for every part in the queue.
  template <class F>
  void for_each_waiting(F&& f) const {
    for (std::uint32_t place = begin_; place != end_; ++place) f(at(place));
  }
  // Returns the part at the head of the queue, which must exist; no part may be in the course of being taken.
  const Turn& next() const { return at(begin_); }
  // Issues parts that are ready by `limit`, those of the oldest units first, until `depth` of them are under way.
  // Issued parts are served in that order.
  void issue(Nanoseconds limit, std::uint32_t depth) {
    for (; issued_ < depth; ++issued_) {
      const std::uint32_t first = begin_ + issued_;
      if (first == end_ || at(first).ready > limit) return;
      std::uint32_t oldest = first;
      for (std::uint32_t place = first + 1; place != end_ && at(place).ready <= limit; ++place) {
        if (static_cast<std::int32_t>(at(place).unit - at(oldest).unit) < 0) oldest = place;
      }
      const Turn turn = at(oldest);
      for (std::uint32_t place = oldest; place != first; --place) at(place) = at(place - 1);
      at(first) = turn;
    }
  }
  // Removes the head of the queue, which passes as a whole.
  void skip() {
    ++begin_;
    issued_ -= issued_ == 0 ? 0 : 1;
  }
  // Begins to take the head of the queue; `rest` holds its accesses.
  void take() {
    taken = at(begin_);
    skip();
    taking = true;
    next_rest = 0;
  }
  // Ends the retries: only accesses with outstanding faults remain.
  void end_retry() {
    missed.resize(raised);
    next_retry = raised;
  }
  // Applies a replay: all missed accesses are to be retried, first those with outstanding faults in their order, then
  // those that were still to be retried.
  void replay() {
    if (raised != next_retry) {
      missed.erase(missed.begin() + static_cast<std::ptrdiff_t>(raised),
                   missed.begin() + static_cast<std::ptrdiff_t>(next_retry));
    }
    raised = next_retry = 0;
    raw = 0;
    new_warps = 0;
    new_lane = kNoLane;
    last_page = ~std::uint64_t{0};
    ++epoch;
    blocked = false;
  }
  // Resets all but the memory of the queues, for that many lanes.
  void reset(std::uint32_t lanes) {
    SmQueue fresh;
    fresh.missed.swap(missed);
    fresh.rest.swap(rest);
    fresh.ring_.swap(ring_);
    fresh.missed.clear();
    if (fresh.ring_.size() < lanes) fresh.ring_.resize(std::bit_ceil(lanes));
    fresh.mask_ = static_cast<std::uint32_t>(fresh.ring_.size() - 1);
    *this = std::move(fresh);
  }

 private:
  // Positions count up for ever; a place of the ring is a position modulo its size, a power of two.
  Turn& at(std::uint32_t position) { return ring_[position & mask_]; }
  const Turn& at(std::uint32_t position) const { return ring_[position & mask_]; }

  // The waiting parts, at most one per lane: first the issued ones, then the others, ascending in `ready`.
  std::vector<Turn> ring_;
  std::uint32_t begin_ = 0, end_ = 0;
  std::uint32_t issued_ = 0;
  std::uint32_t mask_ = 0;
};

}  // namespace uvmsim::engine
