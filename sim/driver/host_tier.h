// SPDX-License-Identifier: Apache-2.0
// The host's memory as a tier of limited size between the GPUs and an SSD (config: host.memory_bytes, ssd).
//
// What the host holds beyond its memory lies on the SSD, as a kernel would swap it: the unit of host.reclaim_bytes that
// was used longest ago leaves, its pages are written unless a valid copy lies on the SSD already, and it is unmapped
// any more. Whoever needs them has them read into host memory first; from there they migrate or are mapped as ever.
// Memory is reclaimed when none is left (direct reclaim: the arrival waits for the writes), and ahead of need below the
// watermark. Reads and writes go on while the driver's thread does; copies and CPU faults wait for them. Reclaiming
// itself costs no CPU time. GPU writes are not seen, so a page that a GPU may write has no valid SSD copy; the CPU's
// writes are seen when they happen (its page tables have a dirty bit).
//
// NVIDIA's driver keeps managed pages of the host in memory of its own, which no kernel reclaims: this tier is what a
// driver would have to do, after Linux's reclaim (mm/vmscan.c) and G10's three tiers (MICRO'23).
#pragma once

#include "sim/driver/context.h"

namespace uvmsim::driver {

class HostTier {
 public:
  explicit HostTier(DriverContext& context) : context_(context) {}

  // Memory of the host behind pages that come there; the driver allocates it once.
  void back(Work& work, BlockIndex block, const PageMask& pages);
  // The pages, which the host does not hold, are about to arrive there. Returns when there is memory for all of them; 0
  // if nothing limits the host. Throws InputError when host and SSD are full, or there is no SSD.
  Nanoseconds admit(Nanoseconds now, BlockIndex block, const PageMask& pages);
  // The pages, which the host holds, are needed. Returns when those that lay on the SSD have been read; 0 if none did.
  Nanoseconds fetch(Nanoseconds now, BlockIndex block, const PageMask& pages);
  // The host gives the pages up; the memory behind them is free from `at` on. Copies on the SSD stay valid.
  void leave(BlockIndex block, const PageMask& pages, Nanoseconds at);
  // Their contents are void everywhere.
  void drop(BlockIndex block, const PageMask& pages);

 private:
  Nanoseconds claim(Nanoseconds now, BlockIndex block, const PageMask& pages);
  void reclaim_to(Nanoseconds now, std::uint64_t free_pages, BlockIndex spared);
  void push_out(Nanoseconds now, BlockIndex block, const PageMask& pages);
  Nanoseconds pass(bool write, Nanoseconds earliest, BlockIndex block, const PageMask& pages);

  DriverContext& context_;
};

}  // namespace uvmsim::driver
