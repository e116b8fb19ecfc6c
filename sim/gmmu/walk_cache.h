// SPDX-License-Identifier: Apache-2.0
// The page-walk cache: lines of page tables and page directories that a walk need not read from memory again.
#pragma once

#include <cstdint>

#include "sim/common/units.h"
#include "sim/gmmu/entry_size.h"
#include "sim/gmmu/small_entry_count.h"
#include "sim/gmmu/tlb.h"

namespace uvmsim::gmmu {

// A line holds 16 neighbouring entries of one level. The lowest line of a walk holds the translations themselves.
// Directory levels are counted from below: an entry of level 1 leads to the 4 KB and 64 KB entries of one block; an
// entry of level 2 leads to 256 blocks (512 MB), whose slots are level 1 or 2 MB entries; every further level covers
// 512 times more (the GPU's format since Pascal; Hopper adds one level on top).
class WalkCache {
 public:
  // With `lines` = 0 there is no cache: every walk reads all its levels. `levels_*`: memory reads of such a walk, at
  // least 1.
  WalkCache(std::uint32_t lines, std::uint32_t levels_4k, std::uint32_t levels_2m);

  // Returns the memory reads of a walk to `pages` (bits) of the group `tag` in this block: 0 if their line is cached.
  // Caches the lines that it read.
  std::uint32_t walk(BlockIndex block, TlbTag tag, std::uint16_t pages);
  // Returns false if no translation of this size (k4K or k64K) of the block is cached; may return true although none
  // is.
  bool may_hold(BlockIndex block, EntrySize size) const { return small_.any(block, size); }
  // Call when the translations of `pages` of a group have changed.
  void invalidate(TlbTag tag, std::uint16_t pages);
  void add_state(StateDigest& digest) const { cache_.add_state(digest); }

 private:
  void fill(std::uint64_t set_index, std::uint64_t tag, std::uint16_t present, std::uint16_t pages);

  bool enabled_;
  std::uint32_t levels_4k_, levels_2m_;
  Tlb cache_;
  SmallEntryCount small_;
};

}  // namespace uvmsim::gmmu
