// SPDX-License-Identifier: Apache-2.0
// Hooks for others that take part in the driver's course: plans, and memory that peers lend.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sim/common/units.h"
#include "sim/memory/page_mask.h"
#include "sim/policy/router.h"

namespace uvmsim::driver {

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

// The hooks for memory that peers lend, and for blocks that are prefetched. By default they do nothing; harvesting
// implements them (harvest.h).
class MoveHooks {
 public:
  virtual ~MoveHooks() = default;

  // Returns whether a GPU holds the block for another one; its pages there are mapped by no processor.
  virtual bool holds(BlockIndex) const { return false; }
  // Called when the block left lent memory: freed, dropped, or fetched to where it belongs.
  virtual void release(BlockIndex) {}
  // Called when the block was read from lent memory, on its way to the GPU that uses it.
  virtual void fetched(BlockIndex) {}
  // Called before and after pages come to the GPU; evictions leave the blocks in `spared` alone. after_arrival()
  // returns the number of chunks that it evicted.
  virtual void before_arrival(BlockIndex, unsigned /*gpu*/) {}
  virtual std::uint32_t after_arrival(Work&, BlockIndex, unsigned /*gpu*/, std::span<const BlockIndex> /*spared*/) {
    return 0;
  }

  // on_eviction(): the GPU evicts a chunk. give_back(): it needs one; returns true if a chunk is free now.
  virtual void on_eviction(unsigned /*gpu*/) {}
  virtual bool give_back(Work&, unsigned /*gpu*/) { return false; }
  // may_take(): whether lent memory may take a victim as a whole. way_out(): the victim's way, if it follows from where
  // the rest of the block lies. take(): moves the pages `gone` there, `copied` of them over the link.
  virtual bool may_take(BlockIndex) const { return false; }
  virtual std::optional<policy::Route> way_out(BlockIndex, unsigned /*gpu*/) const { return std::nullopt; }
  virtual void take(Work&, BlockIndex, unsigned /*gpu*/, unsigned /*spare*/, const PageMask& /*gone*/,
                    const PageMask& /*copied*/) {}

  // Answers for route policies. `now`: copies that end by then have arrived.
  virtual bool has_room(unsigned /*gpu*/, unsigned /*spare*/, BlockIndex, Nanoseconds /*now*/) { return false; }
  virtual std::uint32_t pending_chunks(unsigned /*gpu*/, std::optional<Nanoseconds> /*now*/) { return 0; }
  virtual bool harvests(unsigned /*gpu*/) const { return false; }

  // Called in a fault batch: at its begin; before a block is served; to fetch blocks at its far end early, one at a
  // time; after all are served, from the first to the last page, with the time `free_at` from which a helper is free.
  virtual void batch_begins(unsigned /*gpu*/) {}
  virtual void before_block(Work&, unsigned /*gpu*/, BlockIndex) {}
  virtual bool fetches_far_blocks() const { return false; }
  virtual bool fetch_far_block(Work& /*helper*/, unsigned /*gpu*/, BlockIndex) { return false; }
  virtual void batch_served(unsigned /*gpu*/, PageIndex /*first*/, PageIndex /*last*/, Nanoseconds /*free_at*/) {}
};

}  // namespace uvmsim::driver
