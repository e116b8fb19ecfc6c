// SPDX-License-Identifier: Apache-2.0
// What the program asks of the driver directly: prefetch, advice, discard, free.
#pragma once

#include "sim/driver/residency.h"
#include "sim/driver/thrashing.h"
#include "sim/trace/record.h"

namespace uvmsim::driver {

// Part of a range: pages [first, first + count) of one block.
struct BlockSpan {
  BlockIndex block;
  unsigned first = 0;
  unsigned count = 0;
  PageMask mask() const { return PageMask::range(first, count); }
};

class UserCalls {
 public:
  UserCalls(DriverContext& context, Residency& residency, Thrashing& thrashing)
      : context_(context), residency_(residency), thrashing_(thrashing) {}

  // cudaMemPrefetchAsync of the spans, ascending. Returns when the last copy is done. What does not fit pushes the head
  // of the range out again, as the driver does.
  Nanoseconds prefetch(std::span<const BlockSpan> spans, ProcessorId destination, Nanoseconds start);
  // cudaMemAdvise; takes effect on whole blocks. Moves nothing. Returns when the call returns.
  Nanoseconds advise(std::span<const BlockSpan> spans, trace::Advice advice, ProcessorId processor, Nanoseconds start);
  // cudaMemDiscardBatchAsync: the driver's variant that unmaps, so that a later write is seen.
  void discard(std::span<const BlockSpan> spans);

 private:
  PageMask touched(const BlockSpan& span) const;
  PageMask enclosed(const BlockSpan& span) const;
  void migrate(Work& work, const BlockSpan& span, ProcessorId destination);
  void map(Work& work, const BlockSpan& span, ProcessorId destination);
  void set_preferred(Work& work, BlockIndex block, ProcessorId processor);
  void set_read_mostly(BlockIndex block);
  void unset_read_mostly(Work& work, BlockIndex block);

  DriverContext& context_;
  Residency& residency_;
  Thrashing& thrashing_;
};

}  // namespace uvmsim::driver
