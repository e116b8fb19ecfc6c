// SPDX-License-Identifier: Apache-2.0
// Whose spare memory takes a block, of those who have room for it: HUVM's two ways to choose.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/policy/parameters.h"
#include "sim/policy/router.h"

namespace uvmsim::policy {

class SpareTarget {
 public:
  enum class Order : std::uint8_t {
    kFewestPending,  // the fewest blocks that the host has no copy of; of several the first: HUVM's released driver
    kInTurn,         // the one after whoever took the last block: its paper
  };

  explicit SpareTarget(Order order) : order_(order) {}

  // Into whose spare memory; kDirect where no GPU has room, kLater where all ways to those with room are full.
  Route pick(const RouteQueries& queries) {
    bool room = false;
    std::optional<unsigned> best;
    for (unsigned i = 0; i < queries.gpu_count(); ++i) {
      const unsigned gpu = order_ == Order::kInTurn ? (i + next_) % queries.gpu_count() : i;
      if (!queries.has_room(gpu)) continue;
      room = true;
      if (queries.path_full(gpu)) continue;
      if (best && (order_ == Order::kInTurn || queries.pending_chunks(gpu) >= queries.pending_chunks(*best))) continue;
      best = gpu;
    }
    if (!best) return {room ? Route::Way::kLater : Route::Way::kDirect, 0};
    next_ = *best + 1;
    return {Route::Way::kSpare, *best};
  }

  void add_state(StateDigest& digest) const {
    if (order_ == Order::kInTurn) digest.add(next_);
  }

 private:
  Order order_;
  unsigned next_ = 0;  // in turn
};

}  // namespace uvmsim::policy
