// The footprint of a program: the GPU memory that holds all of its live managed memory at its peak, under a
// layout: whole 2 MB chunks.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/layout/layout.h"

namespace uvmsim::layout {

class FootprintMeter {
 public:
  // Throws InputError as Layout does. Where more than `largest_bytes` would be live, add() throws InputError.
  explicit FootprintMeter(const LayoutChoice& choice, std::uint64_t largest_bytes = ~std::uint64_t{0});

  // Every record of a trace in order; `is_segment` is SegmentFinder's word. Throws InputError as Layout does.
  void add(const trace::Record& record, bool is_segment);
  std::uint64_t footprint_bytes() const { return layout_.peak_chunk_bytes(); }
  // 2 MB blocks of addresses that the program has used so far.
  std::uint64_t block_count() const { return space_.block_count(); }
  // Segments that the layout's allocator has opened so far; 0 where it has none.
  std::uint64_t segment_count() const { return layout_.segment_count(); }

 private:
  void check(std::uint64_t bytes) const;

  std::uint64_t largest_bytes_;
  AddressSpace space_;
  Layout layout_;
};

}  // namespace uvmsim::layout
