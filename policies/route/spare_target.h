// SPDX-License-Identifier: Apache-2.0
// The choice of the GPU whose spare memory takes a block, of those with room: HUVM's two ways.
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
    kFewestPending,  // the fewest blocks of which the host has no copy; of equals the first: HUVM's released driver
    kInTurn,         // the one after the GPU that took the last block: its paper
  };

  explicit SpareTarget(Order order) : order_(order) {}

  // Returns the route; kDirect where no GPU has room, kLater where all paths to GPUs with room are full.
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
  unsigned next_ = 0;  // for kInTurn
};

}  // namespace uvmsim::policy
