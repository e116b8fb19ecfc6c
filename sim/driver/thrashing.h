// The driver's thrashing heuristic: pages that bounce between processors are pinned or their requester is throttled.
//
// Follows NVIDIA UVM 580 uvm_perf_thrashing.c. One GPU that evicts and refaults never triggers it: an event counts only
// when its destination differs from the block's last one within the lapse. State exists only for blocks that saw such
// an event.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "sim/common/units.h"
#include "sim/config/system.h"
#include "sim/memory/page_mask.h"
#include "sim/memory/processor.h"
#include "sim/report/counters.h"
#include "sim/report/event_sink.h"

namespace uvmsim::driver {

class Thrashing {
 public:
  Thrashing(const config::DriverConfig& config, Counters& counters, EventSink* events);
  ~Thrashing();

  // False when the heuristic is disabled: callers then skip on_migration.
  bool interested() const;
  // True if the block has per-page tracking, so that pages() and ask() can answer anything but "none".
  bool tracks(BlockIndex block) const;
  // Pages of the block that are thrashing now (kept out of the prefetch tree).
  PageMask pages(BlockIndex block) const;

  // `pages` moved to `destination` by a fault, prefetch or access-counter migration (not eviction, not user calls, not
  // first touch).
  void on_migration(BlockIndex block, const PageMask& pages, ProcessorId destination, Nanoseconds now);
  // User migrations, hints and freed ranges reset the block.
  void reset(BlockIndex block);

  struct Verdict {
    PageMask throttled;       // not serviced now; they fault again after the replay
    PageMask pinned_to_host;  // placed on the host and mapped remotely
    PageMask pinned_here;     // placed on the requester
    Nanoseconds throttle_end{};  // for a CPU requester: when it may retry
  };
  // What to do with faults of `requester` on `pages`.
  Verdict ask(BlockIndex block, const PageMask& pages, ProcessorId requester, Nanoseconds now);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace uvmsim::driver
