// SPDX-License-Identifier: Apache-2.0
// The extents that a kernel touches, by phase: lists that copies share.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/trace/shared_list.h"

namespace uvmsim::trace {

enum class AccessMode : std::uint8_t { kRead = 1, kWrite = 2, kReadWrite = 3 };

// [first, first + count) in quanta of one object.
struct Extent {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  AccessMode mode = AccessMode::kRead;
  bool operator==(const Extent&) const = default;
};
using ExtentList = SharedList<Extent>;

// Appends an extent that comes after all others, merging it with the last one if they are adjacent and of the same
// mode.
inline void append_extent(std::vector<Extent>& extents, const Extent& next) {
  if (!extents.empty() && extents.back().mode == next.mode &&
      extents.back().first + extents.back().count == next.first) {
    extents.back().count += next.count;
  } else {
    extents.push_back(next);
  }
}

// A slice of the linear block index [first_block, first_block + block_count) and the extents that those blocks touch.
// Slots index Kernel::accesses; extents are subsets of it (so a page may appear in many phases).
struct PhaseAccess {
  std::uint32_t slot = 0;
  std::vector<Extent> extents;
  bool operator==(const PhaseAccess&) const = default;
};
struct Phase {
  std::uint64_t first_block = 0;
  std::uint64_t block_count = 0;
  std::vector<PhaseAccess> accesses;
  bool operator==(const Phase&) const = default;
};
using PhaseList = SharedList<Phase>;

}  // namespace uvmsim::trace
