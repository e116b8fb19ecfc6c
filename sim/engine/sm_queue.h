// What an SM of a kernel in progress has in hand: accesses that missed, and those behind them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/memory/page_mask.h"

namespace uvmsim::engine {

// Accesses of some warps of a lane to one page whose faults are out. (Blocks in 32 bits: half the size.)
struct Access {
  std::uint32_t block = 0;
  std::uint32_t lane = 0;
  std::uint16_t page = 0;
  std::uint16_t warps = 1;
  std::uint16_t raising = 1;  // warps whose faults are out
  bool write = false;
  bool scattered = false;
  std::uint64_t index() const { return std::uint64_t{block} * kPagesPerBlock + page; }
};

// Accesses of a lane to pages in a row that stand in the queue.
struct Waiting {
  std::uint32_t block = 0;
  std::uint32_t lane = 0;
  std::uint16_t first = 0, count = 0;
  std::uint16_t warps = 1;
  bool write = false;
  bool scattered = false;
};

struct SmQueue {
  static constexpr std::uint32_t kNoLane = ~std::uint32_t{0};

  // Missed accesses: those before `raised` have their faults out, those from `next_retry` on missed before the replay
  // in progress. In between is nothing.
  std::vector<Access> missed;
  std::size_t raised = 0;
  std::size_t next_retry = 0;
  std::vector<Waiting> waiting;
  std::size_t next_waiting = 0;
  std::uint64_t last_page = ~std::uint64_t{0};
  std::uint32_t raw = 0;        // raw faults out
  std::uint32_t new_warps = 0;  // that raised faults since the last replay
  std::uint32_t new_lane = kNoLane;
  std::uint32_t epoch = 1;  // 1 + the replays that found something to do
  bool scheduled = false;   // has an event, or is being served
  bool blocked = false;

  bool retrying() const { return next_retry < missed.size(); }
  bool idle() const { return !blocked && !scheduled && next_waiting == waiting.size(); }
  bool empty() const { return missed.empty() && next_waiting == waiting.size(); }
  // All retries done: only accesses with their faults out remain.
  void end_retry() {
    missed.resize(raised);
    next_retry = raised;
  }
  // A replay: everything that missed is to be tried again, in the order in which faults went out, then what was still
  // being retried.
  void replay() {
    missed.erase(missed.begin() + static_cast<std::ptrdiff_t>(raised),
                 missed.begin() + static_cast<std::ptrdiff_t>(next_retry));
    raised = next_retry = 0;
    if (next_waiting * 2 > waiting.size()) {
      waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(next_waiting));
      next_waiting = 0;
    }
    raw = 0;
    new_warps = 0;
    new_lane = kNoLane;
    last_page = ~std::uint64_t{0};
    ++epoch;
    blocked = false;
  }
  // As new, but with the memory of its queues.
  void reset() {
    SmQueue fresh;
    fresh.missed.swap(missed);
    fresh.waiting.swap(waiting);
    fresh.missed.clear();
    fresh.waiting.clear();
    *this = std::move(fresh);
  }
};

}  // namespace uvmsim::engine
