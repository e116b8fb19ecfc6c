// SPDX-License-Identifier: Apache-2.0
// How pages leave: pushed out by evictions, void as they moved on, discarded or freed by the program. Policies and
// accounts are told of each.
#pragma once

#include "sim/driver/backing.h"
#include "sim/driver/host_tier.h"
#include "sim/driver/page_copies.h"

namespace uvmsim::driver {

class Departures {
 public:
  Departures(DriverContext& context, PageCopies& copies, HostTier& host_tier, Backing& backing)
      : context_(context), copies_(copies), host_tier_(host_tier), backing_(backing) {}

  // The pages leave the GPU; those without another copy are copied to the host, or into lent memory of a peer where the
  // `whole` block goes. Returns how many of them are copied as pages.
  PageMask push_out(Work& work, BlockIndex block, unsigned gpu, const PageMask& pages, bool whole);
  // Its steps, for who takes victims elsewhere. Unmapped everywhere: returns when the GPU's TLBs have dropped them, so
  // that they can be copied. Then they are the GPU's no more.
  Nanoseconds unmap_victim(const Work& work, BlockIndex block, unsigned gpu, const PageMask& gone);
  void leave(Work& work, BlockIndex block, unsigned gpu, const PageMask& gone);

  // The GPU's copies are void. Its mappings of them are gone already.
  void drop_copies(Work& work, BlockIndex block, unsigned gpu, const PageMask& pages);
  // The program discarded the pages: their contents are never copied. With `drop` they are dropped everywhere (GPU
  // memory stays with the block) and the next touch populates them; without, they stay mapped and discarded until a
  // migration by the program.
  void discard(BlockIndex block, const PageMask& pages, bool drop);
  // The same of all that a GPU holds of a block, by its plan.
  void drop_contents(Nanoseconds now, unsigned gpu, BlockIndex block);
  // The program freed the block's range: drops its pages everywhere, without write-back. Returns populated GPU pages.
  std::uint64_t release(BlockIndex block);

 private:
  policy::Route way_out(Work& work, BlockIndex block, unsigned gpu, const PageMask& copied, bool whole);

  DriverContext& context_;
  PageCopies& copies_;
  HostTier& host_tier_;
  Backing& backing_;
};

// For a timeline: how much of the GPU's memory is in use.
void emit_residency(const DriverContext& context, unsigned gpu, Nanoseconds at);

}  // namespace uvmsim::driver
