// SPDX-License-Identifier: Apache-2.0
// How much GPU memory a program needs at its peak for what it touches, each 2 MB block from its first to its last
// touch.
//
// Who learns of the last touch only at the program's end cannot keep a running sum: intervals are noted as they close,
// and added up at the end.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/common/units.h"

namespace uvmsim::layout {

class TouchedBlocks {
 public:
  // Time passes by one with every record.
  void begin_record() { ++now_; }
  // `slots`: 64 KB pages that the block takes of a GPU; the same at each touch.
  void touch(BlockIndex block, std::uint32_t slots);
  // The block is freed: its address may come again as another one.
  void release(BlockIndex block);

  // 64 KB pages, at the moment when most are between their first and last touch.
  std::uint64_t peak_slots() const;

 private:
  struct Interval {
    std::uint64_t first = 0, last = 0;  // records
    std::uint32_t slots = 0;
  };

  std::uint64_t now_ = 0;
  std::unordered_map<std::uint64_t, Interval> open_;  // by block
  std::vector<Interval> closed_;
};

}  // namespace uvmsim::layout
