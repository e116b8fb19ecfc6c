// SPDX-License-Identifier: Apache-2.0
// The host's memory as a tier of limited size between the GPUs and an SSD (config: host.memory_bytes, ssd).
//
// When its memory is full, the host swaps to the SSD, as a kernel would: it evicts the least recently used unit of
// host.reclaim_bytes. The unit's pages are written unless the SSD has a valid copy already, and they are unmapped. When
// a processor needs them, they are first read into host memory; from there they migrate or are mapped as usual. Memory
// is reclaimed when none is left (direct reclaim: the arrival waits for the writes), and ahead of need below the
// watermark. Reads and writes overlap with the driver's thread; copies and CPU faults wait for them. Reclaiming itself
// takes no CPU time. GPU writes are not seen, so a page that a GPU may write has no valid SSD copy; the CPU's writes
// are seen when they happen (its page tables have a dirty bit).
//
// NVIDIA's driver keeps managed pages of the host in memory of its own, which no kernel reclaims: this tier is what a
// driver would have to do, after Linux's reclaim (mm/vmscan.c) and G10's three tiers (MICRO'23).
#pragma once

#include "sim/driver/context.h"

namespace uvmsim::driver {

class HostTier {
 public:
  explicit HostTier(DriverContext& context) : context_(context) {}

  // Charges for host memory behind pages that come to the host; the driver allocates it once.
  void back(Work& work, BlockIndex block, const PageMask& pages);
  // Reserves memory for pages that are not on the host and are about to arrive. Returns when there is memory for all of
  // them; 0 if host memory is unlimited. Throws InputError if host and SSD are full, or there is no SSD.
  Nanoseconds admit(Nanoseconds now, BlockIndex block, const PageMask& pages);
  // Reads those of the host's pages that are on the SSD. Returns when they have been read; 0 if none were there.
  Nanoseconds fetch(Nanoseconds now, BlockIndex block, const PageMask& pages);
  // Frees the memory behind pages that leave the host, from `at` on. Copies on the SSD stay valid.
  void leave(BlockIndex block, const PageMask& pages, Nanoseconds at);
  // Drops the pages' contents everywhere.
  void drop(BlockIndex block, const PageMask& pages);

 private:
  Nanoseconds claim(Nanoseconds now, BlockIndex block, const PageMask& pages);
  void reclaim_to(Nanoseconds now, std::uint64_t free_pages, BlockIndex spared);
  void push_out(Nanoseconds now, BlockIndex block, const PageMask& pages);
  Nanoseconds pass(bool write, Nanoseconds earliest, BlockIndex block, const PageMask& pages);

  DriverContext& context_;
};

}  // namespace uvmsim::driver
