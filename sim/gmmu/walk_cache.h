// The page-walk cache: upper-level page-directory entries that a walk need not read again.
#pragma once

#include <cstdint>

#include "sim/common/units.h"
#include "sim/gmmu/entry_size.h"
#include "sim/gmmu/tlb.h"

namespace uvmsim::gmmu {

// Levels are counted from below: level 1 points to the table of one 2 MB block's 4 KB and 64 KB entries, level 2 to
// the table of 256 blocks (512 MB) whose slots are level 1 or 2 MB entries, every further level covers 512 times more
// (GPU MMU format since Pascal; Hopper adds one on top).
class WalkCache {
 public:
  // entries = 0: no cache, every walk reads all its levels.
  WalkCache(std::uint32_t entries, std::uint32_t levels_4k, std::uint32_t levels_2m);

  // Memory reads of a walk that ends in an entry of this size: from the lowest cached level down, at least 1. The
  // levels it read become cached.
  std::uint32_t walk(BlockIndex block, EntrySize size);
  // The block's own directory entry changed.
  void invalidate(BlockIndex block);
  void clear();

 private:
  static std::uint64_t key(BlockIndex block, std::uint32_t level);
  static std::uint64_t set_index(std::uint64_t key) { return key >> 4; }
  bool touch(std::uint64_t key) { return cache_.touch(set_index(key), key); }

  bool enabled_;
  std::uint32_t levels_4k_, levels_2m_;
  Tlb cache_;
};

}  // namespace uvmsim::gmmu
