// Whether a TLB may hold 4 KB or 64 KB entries of a block: spares most invalidations the search for 34 entries.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/common/units.h"
#include "sim/gmmu/tlb.h"

namespace uvmsim::gmmu {

// Exact counts, but blocks 4096 apart share one.
class SmallEntryCount {
 public:
  SmallEntryCount() : counts_(kSlots, 0) {}

  // `tag` was put into the TLB, or left it. Tags of 2 MB entries, directory lines and 0 are ignored.
  void added(std::uint64_t tag) {
    if (is_small(tag)) ++counts_[slot_of(tag)];
  }
  void removed(std::uint64_t tag) {
    if (is_small(tag)) --counts_[slot_of(tag)];
  }
  bool any(BlockIndex block) const { return counts_[block.value % kSlots] != 0; }
  void clear() { counts_.assign(kSlots, 0); }

 private:
  static constexpr std::size_t kSlots = 4096;
  static constexpr bool is_small(std::uint64_t tag) { return (tag & 3) == 1 || (tag & 3) == 2; }
  static constexpr std::size_t slot_of(std::uint64_t tag) {
    const std::uint64_t groups_per_block = ((tag & 3) == 1 ? kPagesPerBlock : kBigPagesPerBlock) / kPagesPerEntry;
    return static_cast<std::size_t>((tag >> 2) / groups_per_block % kSlots);
  }

  std::vector<std::uint32_t> counts_;
};

}  // namespace uvmsim::gmmu
