// SPDX-License-Identifier: Apache-2.0
// Calls from the driver to plans, which decide in some of its steps.
#pragma once

#include <optional>

#include "sim/memory/page_mask.h"

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
  // Returns nothing to leave the choice to the evictor. Adds the time of the decision to `work`.
  virtual std::optional<Victim> victim(Work& work) = 0;

 protected:
  ~PlanHooks() = default;
};

}  // namespace uvmsim::driver
