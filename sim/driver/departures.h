// SPDX-License-Identifier: Apache-2.0
// The ways in which pages leave a processor: evicted, dropped after a migration, discarded or freed by the program.
// Policies and event sinks are told of each.
#pragma once

#include "sim/driver/backing.h"
#include "sim/driver/host_tier.h"
#include "sim/driver/page_copies.h"

namespace uvmsim::driver {

class Departures {
 public:
  Departures(DriverContext& context, PageCopies& copies, HostTier& host_tier, Backing& backing)
      : context_(context), copies_(copies), host_tier_(host_tier), backing_(backing) {}

  // Evicts the pages from the GPU. Pages without another copy are copied to the host, or into lent memory of a peer if
  // the `whole` block leaves. Returns the copied pages (all pages if they went to a peer as one piece).
  PageMask push_out(Work& work, BlockIndex block, unsigned gpu, const PageMask& pages, bool whole, Moved& moved);
  // unmap_victim() and leave() are the steps of push_out(), for evictions into memory of a peer. unmap_victim() unmaps
  // the pages everywhere and returns when the GPU's TLBs have dropped them, so that they can be copied; leave() ends
  // their residency on the GPU.
  Nanoseconds unmap_victim(const Work& work, BlockIndex block, unsigned gpu, const PageMask& gone);
  void leave(Work& work, BlockIndex block, unsigned gpu, const PageMask& gone);

  // Drops the GPU's copies, which are stale. Its mappings of them must be gone already.
  void drop_copies(Work& work, BlockIndex block, unsigned gpu, const PageMask& pages);
  // Marks pages that the program discarded: their contents are never copied. With `drop` they are dropped everywhere
  // (GPU memory stays with the block) and the next touch populates them. Without `drop` they stay mapped and discarded
  // until the program migrates them.
  void discard(BlockIndex block, const PageMask& pages, bool drop);
  // Discards all pages of a block because its GPU's plan requests it.
  void drop_contents(Nanoseconds now, unsigned gpu, BlockIndex block);
  // Drops the pages of a freed block everywhere, without write-back. Returns the number of populated GPU pages.
  std::uint64_t release(BlockIndex block);

 private:
  policy::Route way_out(Work& work, BlockIndex block, unsigned gpu, const PageMask& copied, bool whole);

  DriverContext& context_;
  PageCopies& copies_;
  HostTier& host_tier_;
  Backing& backing_;
};

// Emits the amount of GPU memory in use, for a timeline.
void emit_residency(const DriverContext& context, unsigned gpu, Nanoseconds at);

}  // namespace uvmsim::driver
