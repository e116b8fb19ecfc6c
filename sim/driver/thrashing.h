// SPDX-License-Identifier: Apache-2.0
// The driver's thrashing heuristic: a page that bounces between processors is throttled for one of them, then pinned.
//
// Follows NVIDIA UVM 580 uvm_perf_thrashing.c. A single GPU that evicts and refaults never triggers it: tracking by
// page starts in a block only with an event whose destination differs from the block's previous one, within the lapse.
// Until then a block takes one stamp of 16 bytes. Revocations under read duplication count too: pages that the CPU
// wrote and a GPU writes repeatedly become thrashing, and later prefetches in their block exclude them. Time is only
// known from the callers' `now`; pins expire when expire() is called.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "sim/common/sparse_table.h"
#include "sim/common/units.h"
#include "sim/driver/access_matrix.h"
#include "sim/driver/context.h"
#include "sim/memory/page_mask.h"
#include "sim/memory/processor.h"

namespace uvmsim::driver {

class Thrashing {
 public:
  explicit Thrashing(DriverContext& context);
  Thrashing(DriverContext& context, const AccessMatrix& access);
  ~Thrashing();

  // Returns false if the heuristic is disabled: callers then skip on_migration.
  bool interested() const { return enabled_; }
  // Returns true if the block has per-page tracking. Without it pages() is empty and ask() returns no verdict.
  bool tracks(BlockIndex block) const;
  // Returns the block's pages that are thrashing or pinned now (kept out of the prefetch tree).
  PageMask pages(BlockIndex block) const;
  PageMask pinned(BlockIndex block) const;

  // Counts a move of `pages` to `destination` by a fault, prefetch or access-counter migration (not eviction, not user
  // calls, not first touch, not read duplication). Pinned pages among them are ignored.
  void on_migration(BlockIndex block, const PageMask& pages, ProcessorId destination, Nanoseconds now);
  // Counts that `processor` lost the permission to write pages that were read-duplicated; it keeps its mappings.
  void on_revocation(BlockIndex block, const PageMask& pages, ProcessorId processor, Nanoseconds now);
  // Resets the thrashing state of `pages` after user migrations, read duplication or hints. Returns the pages that were
  // pinned; the caller must remove their remote mappings.
  PageMask reset(BlockIndex block, const PageMask& pages);
  // Drops the state of a block that was freed.
  void forget(BlockIndex block);

  struct Verdict {
    PageMask throttled;  // not serviced now; they fault again after the replay
    // latest end of the throttling; a throttled CPU thread sleeps until then and tries again
    Nanoseconds throttle_end{};
    PageMask pinned_here;     // placed on the requester
    PageMask pinned_to_host;  // placed on the host; a GPU requester maps them remotely
    PageMask pinned_to_peer;  // placed on another GPU (pin_location), mapped remotely
    // Other processors that contend for the pinned pages and can map them where they are placed.
    struct RemoteMapping {
      ProcessorId processor;
      PageMask pages;
    };
    std::vector<RemoteMapping> mappings;

    PageMask pinned() const { return pinned_here | pinned_to_host | pinned_to_peer; }
  };
  // Judges faults of `requester` on `pages`. Pages in no mask of the verdict are serviced as usual.
  Verdict ask(BlockIndex block, const PageMask& pages, ProcessorId requester, Nanoseconds now);
  // Returns where a pinned page is placed; kNoProcessor if it is not pinned.
  ProcessorId pin_location(BlockIndex block, unsigned page) const;

  struct Unpinned {
    BlockIndex block;
    PageMask pages;
  };
  // Returns whether expire() would have work; cheap.
  bool pins_expired(Nanoseconds now) const { return !pins_.empty() && pins_.front().deadline <= now; }
  // Unpins pages whose deadline has passed, oldest first. The caller must remove their remote mappings.
  std::vector<Unpinned> expire(Nanoseconds now);

  // Makes the digest refuse while pages are pinned.
  void add_state(StateDigest& digest) const;

  // Returns the gap between events of a page that counts as thrashing; it changes only with thrashing_adaptive_lapse.
  Nanoseconds lapse() const { return lapse_; }

 private:
  struct Page;
  struct Tracked;
  // The last event of a block, tracked or not. `tracking` is an index into tracked_; 0: no per-page tracking.
  struct Stamp {
    Nanoseconds last{-1};  // of the block's events; -1: none yet
    std::uint32_t tracking = 0;
    ProcessorId processor = kNoProcessor;
  };
  struct Pin {
    Nanoseconds deadline;
    BlockIndex block;
    PageMask pages;
  };
  struct Hint {
    enum class Kind : std::uint8_t { kNone, kThrottle, kPin } kind = Kind::kNone;
    ProcessorId location = kNoProcessor;
  };

  enum class Event : std::uint8_t { kMigration, kRevocation };
  void note(BlockIndex block, const PageMask& pages, ProcessorId processor, Nanoseconds now, Event event);
  Tracked* find(BlockIndex block) const;
  Tracked& create(Stamp& stamp);
  bool over(const Tracked& tracked, Nanoseconds now) const;
  Hint hint(BlockIndex block, unsigned index, Page& page, ProcessorId requester, Nanoseconds now);
  Hint migration_hint(BlockIndex block, unsigned index, const Page& page, ProcessorId requester) const;
  ProcessorId common_location(std::uint32_t processors, ProcessorId requester) const;
  void throttle(Page& page, ProcessorId requester);
  void vote(Nanoseconds gap);
  static void reset_page(Tracked& tracked, unsigned index);

  DriverContext& context_;
  AccessMatrix access_;
  bool enabled_;
  Nanoseconds lapse_;
  int votes_ = 0;
  SparseTable<Stamp> stamps_;                      // by block
  std::vector<std::unique_ptr<Tracked>> tracked_;  // [0] is unused
  std::vector<std::uint32_t> free_;                // indices of tracked_
  std::deque<Pin> pins_;                           // by deadline; may contain pages that were reset since
};

}  // namespace uvmsim::driver
