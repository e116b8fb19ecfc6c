// SPDX-License-Identifier: Apache-2.0
// The footprint of a program: the GPU memory, in whole 2 MB chunks, that holds all of its live managed memory at its
// peak under a layout.
//
// The touched footprint is the part of it that a GPU touches, each 2 MB block from its first to its last touch. It is
// the memory need of a program that takes one large block and divides it itself. Touches are those of kernels, copies,
// memsets and prefetches to a GPU.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/layout/layout.h"

namespace uvmsim::layout {

// Measures the touched footprint. The last touch of a block is known only at the program's end, so that a running sum
// is not possible: intervals are noted as they close, and added up at the end.
class TouchedBlocks {
 public:
  // Time is counted in records.
  void begin_record() { ++now_; }
  // `slots` is the number of 64 KB pages that the block takes of a GPU, the same at each touch.
  void touch(BlockIndex block, std::uint32_t slots);
  // Call when the blocks [first, first + count) are freed: their addresses may be used again for other memory.
  void release(BlockIndex first, std::uint64_t count);

  // Returns the largest number of 64 KB pages that are between their first and last touch at one time.
  std::uint64_t peak_slots() const;

 private:
  struct Interval {
    std::uint64_t first = 0, last = 0;  // records
    std::uint32_t slots = 0;
  };

  std::uint64_t now_ = 0;
  std::map<std::uint64_t, Interval> open_;  // by block
  std::vector<Interval> closed_;
};

class FootprintMeter {
 public:
  // Throws InputError as Layout does. add() throws InputError if more than `largest_bytes` would be live.
  explicit FootprintMeter(const LayoutChoice& choice, std::uint64_t largest_bytes = ~std::uint64_t{0});
  // Also measures the touched footprint, of a trace with quanta of this size. Call before the first add().
  void follow_touches(std::uint32_t quantum_bytes) { quantum_bytes_ = quantum_bytes; }

  // Adds every record of a trace, in order; `is_segment` is the answer of SegmentFinder. Throws InputError as Layout
  // does.
  void add(const trace::Record& record, bool is_segment);
  std::uint64_t footprint_bytes() const { return layout_.peak_chunk_bytes(); }
  // Returns the touched footprint, which is at most the footprint. Requires follow_touches().
  std::uint64_t touched_footprint_bytes() const {
    return (touched_.peak_slots() + kBigPagesPerBlock - 1) / kBigPagesPerBlock * kBlockBytes;
  }
  // Returns the 2 MB blocks of addresses that the program has used so far.
  std::uint64_t block_count() const { return space_.block_count(); }
  // Returns the segments that the layout's allocator has opened so far; 0 if it has none.
  std::uint64_t segment_count() const { return layout_.segment_count(); }

 private:
  void check(std::uint64_t bytes) const;
  void touch(const trace::Record& record);
  void touch(trace::ObjectId id, std::uint64_t offset, std::uint64_t bytes);

  std::uint64_t largest_bytes_;
  AddressSpace space_;
  Layout layout_;
  std::uint32_t quantum_bytes_ = 0;  // 0: touches are not followed
  TouchedBlocks touched_;
};

}  // namespace uvmsim::layout
