// SPDX-License-Identifier: Apache-2.0
// Where others take part in the driver's course: plans, and memory that peers lend.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sim/common/units.h"
#include "sim/memory/page_mask.h"
#include "sim/policy/router.h"

namespace uvmsim::driver {

struct Work;

// What the driver tells the plan of a GPU, and asks it: the driver's side of policy::Planner.
class PlanHooks {
 public:
  // Of memory that must be evicted.
  struct Victim {
    BlockIndex block;   // it has a whole root chunk, allocated and not pinned
    bool drop = false;  // its contents are not needed
  };

  virtual void on_faulted(BlockIndex block, const PageMask& pages) = 0;
  virtual void on_migrated(BlockIndex block) = 0;
  virtual void on_released(BlockIndex block) = 0;
  // Nothing: the evictor decides. Spends what the decision costs.
  virtual std::optional<Victim> victim(Work& work) = 0;

 protected:
  ~PlanHooks() = default;
};

// Memory that peers lend, blocks that come ahead of need. By default nothing happens. Harvesting is the one that does
// (harvest.h).
class MoveHooks {
 public:
  virtual ~MoveHooks() = default;

  // Lent memory. Whether a GPU holds the block for another one; its pages there are mapped by no processor.
  virtual bool holds(BlockIndex) const { return false; }
  // The block left it: freed, dropped, or fetched to where it belongs.
  virtual void release(BlockIndex) {}
  // It was read, on its way to the GPU that uses it.
  virtual void fetched(BlockIndex) {}
  // Something is about to come to the GPU; it has come, while those blocks were to stay.
  virtual void before_arrival(BlockIndex, unsigned /*gpu*/) {}
  virtual void after_arrival(Work&, BlockIndex, unsigned /*gpu*/, std::span<const BlockIndex> /*spared*/) {}

  // Evictions. The GPU evicts a chunk, or needs one: true if one is free now.
  virtual void on_eviction(unsigned /*gpu*/) {}
  virtual bool give_back(Work&, unsigned /*gpu*/) { return false; }
  // Whether lent memory may take a victim, as a whole; its way, if it follows from where the rest of it lies; the pages
  // that are gone go there, `copied` of them over the link.
  virtual bool may_take(BlockIndex) const { return false; }
  virtual std::optional<policy::Route> way_out(BlockIndex, unsigned /*gpu*/) const { return std::nullopt; }
  virtual void take(Work&, BlockIndex, unsigned /*gpu*/, unsigned /*spare*/, const PageMask& /*gone*/,
                    const PageMask& /*copied*/) {}

  // What route policies ask. `now`: what is under way by then has happened.
  virtual bool has_room(unsigned /*gpu*/, unsigned /*spare*/, BlockIndex, Nanoseconds /*now*/) { return false; }
  virtual std::uint32_t pending_chunks(unsigned /*gpu*/, std::optional<Nanoseconds> /*now*/) { return 0; }
  virtual bool harvests(unsigned /*gpu*/) const { return false; }

  // Fault batches. One begins; a block of it is served next; those at its far end may come sooner, one at a time; all
  // are served, from the first to the last page, and a helper is free from `free_at` on.
  virtual void batch_begins(unsigned /*gpu*/) {}
  virtual void before_block(Work&, unsigned /*gpu*/, BlockIndex) {}
  virtual bool fetches_far_blocks() const { return false; }
  virtual void fetch_far_block(Work& /*helper*/, unsigned /*gpu*/, BlockIndex) {}
  virtual void batch_served(unsigned /*gpu*/, PageIndex /*first*/, PageIndex /*last*/, Nanoseconds /*free_at*/) {}
};

}  // namespace uvmsim::driver
