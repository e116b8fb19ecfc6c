// SPDX-License-Identifier: Apache-2.0
// Tells whether a TLB may hold 4 KB or 64 KB entries of a block, which saves most invalidations a search for 34
// entries.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/common/units.h"
#include "sim/gmmu/tlb.h"

namespace uvmsim::gmmu {

// The counts are exact, but blocks 4096 apart share one.
class SmallEntryCount {
 public:
  SmallEntryCount() : counts_(kSlots) {}

  // Records that `tag` entered or left the TLB. Tags of 2 MB entries, directory lines and 0 are ignored.
  void added(std::uint64_t tag) {
    if (is_small(tag)) ++count_of(tag);
  }
  void removed(std::uint64_t tag) {
    if (is_small(tag)) --count_of(tag);
  }
  // size: k4K or k64K
  bool any(BlockIndex block, EntrySize size) const {
    return counts_[block.value % kSlots][static_cast<std::size_t>(size)] != 0;
  }

 private:
  static constexpr std::size_t kSlots = 4096;
  static constexpr bool is_small(std::uint64_t tag) { return (tag & 3) == 1 || (tag & 3) == 2; }
  std::uint32_t& count_of(std::uint64_t tag) {
    const std::size_t size = (tag & 3) - 1;
    const std::uint64_t groups_per_block = (size == 0 ? kPagesPerBlock : kBigPagesPerBlock) / kPagesPerEntry;
    return counts_[static_cast<std::size_t>((tag >> 2) / groups_per_block % kSlots)][size];
  }

  std::vector<std::array<std::uint32_t, 2>> counts_;
};

}  // namespace uvmsim::gmmu
