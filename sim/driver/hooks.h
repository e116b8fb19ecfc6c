// SPDX-License-Identifier: Apache-2.0
// Calls to others that take part in the driver's course: plans, and moves to memory that peers lend.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sim/common/units.h"
#include "sim/memory/page_mask.h"

namespace uvmsim::driver {

struct Moved;
struct Work;

// The calls from the driver to the plan of a GPU: the driver's side of policy::Planner.
class PlanHooks {
 public:
  // A block to evict.
  struct Victim {
    BlockIndex block;   // it has a whole root chunk, allocated and not pinned
    bool drop = false;  // its contents are not needed
  };

  virtual void on_faulted(BlockIndex block, const PageMask& pages) = 0;
  virtual void on_migrated(BlockIndex block) = 0;
  virtual void on_released(BlockIndex block) = 0;
  // Returns nothing to leave the choice to the evictor. Spends what the decision costs.
  virtual std::optional<Victim> victim(Work& work) = 0;

 protected:
  ~PlanHooks() = default;
};

// The calls from the driver to what moves pages into memory that peers lend. By default they do nothing; harvesting
// implements them (harvest_moves.h).
class MoveHooks {
 public:
  virtual ~MoveHooks() = default;

  // Moves the pages `gone` of a victim to memory that the GPU `spare` lends, `copied` of them over the link.
  virtual void take(Work&, BlockIndex, unsigned /*gpu*/, unsigned /*spare*/, const PageMask& /*gone*/,
                    const PageMask& /*copied*/) {}
  // Called after pages came to the GPU. Evictions ahead of need leave the blocks in `spared` alone.
  virtual void after_arrival(Work&, BlockIndex, unsigned /*gpu*/, std::span<const BlockIndex> /*spared*/, Moved&) {}
  // May fetch a block at the far end of a fault batch early. Returns whether it did.
  virtual bool fetch_far_block(Work& /*helper*/, unsigned /*gpu*/, BlockIndex) { return false; }
};

}  // namespace uvmsim::driver
