// SPDX-License-Identifier: Apache-2.0
// What the driver tells the plan of a GPU, and asks it: the driver's side of policy::Planner.
#pragma once

#include <optional>

#include "sim/memory/page_mask.h"

namespace uvmsim::driver {

struct Work;

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

}  // namespace uvmsim::driver
