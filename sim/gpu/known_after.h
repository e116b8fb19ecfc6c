// SPDX-License-Identifier: Apache-2.0
// How soon an SM knows that a page is missing: that depends on the cached lines of the page table.
//
// A line of the page table (128 bytes) holds the entries of 1 MB in 64 KB pieces; a line of the page directory holds
// those of eight VA blocks. Accesses that pass bring lines into the cache. If the line is cached, the SM knows soonest;
// if only its other half is, a little later; else the line must be fetched.
#pragma once

#include <cstdint>

#include "sim/common/units.h"
#include "sim/gpu/fault_path.h"
#include "sim/memory/page_mask.h"

namespace uvmsim::gpu {

// The state of the SM that asks.
struct SmMoment {
  bool passed = false;              // an access of the SM has passed since the last replay
  std::uint32_t waiting_warps = 0;  // warps that wait for its load/store unit
};

// Returns the time from the request for a missing page until the SM knows of the miss. `mapped`: the mapped pages of
// its VA block.
inline Nanoseconds known_after(const FaultPath& path, PageIndex page, const PageMask& mapped, const SmMoment& sm) {
  constexpr unsigned kHalfLinePages = 128;  // 512 KB: eight entries of 64 KB
  constexpr std::uint64_t kDirectoryLineBlocks = 8;
  const auto any_in_half = [&](unsigned half) { return (mapped.word(half * 2) | mapped.word(half * 2 + 1)) != 0; };
  const Nanoseconds at_hand(sm.waiting_warps >= path.busy_warps ? path.known_busy_ns : path.known_ns);
  const Nanoseconds half_at_hand(path.known_half_ns), far(path.known_far_ns);
  const unsigned half = static_cast<unsigned>(page.value % kPagesPerBlock) / kHalfLinePages;
  if (any_in_half(half)) return at_hand;
  if (!mapped.empty()) return any_in_half(half ^ 1) ? half_at_hand : far;
  // A VA block without mapped pages needs the directory's line, which the SM's accesses that pass bring.
  if (!sm.passed) return far;
  return page.value / kPagesPerBlock % kDirectoryLineBlocks != 0 ? at_hand : half_at_hand;
}

}  // namespace uvmsim::gpu
