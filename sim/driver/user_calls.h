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
  // What advice makes of the hints of memory; that on which kSetPinned and kUnsetPinned bear is AddressSpace::pin's.
  static void change(Hints& hints, trace::Advice advice, ProcessorId processor);

  UserCalls(DriverContext& context, Residency& residency, Thrashing& thrashing);

  // When the driver's thread, which the caller waits for, is through, and when the last copy is done.
  struct Times {
    Nanoseconds returned, done;
  };
  // cudaMemPrefetchAsync of the spans, ascending. To the host, the thread waits for every copy before it maps the pages
  // there. What does not fit pushes the head of the range out again, as the driver does.
  Times prefetch(std::span<const BlockSpan> spans, ProcessorId destination, Nanoseconds start);
  // cudaMemAdvise of the spans: their pages have the hint, others of the same block do not. Moves nothing. Returns when
  // the call returns.
  Nanoseconds advise(std::span<const BlockSpan> spans, trace::Advice advice, ProcessorId processor, Nanoseconds start);
  // cudaMemDiscardBatchAsync: the driver's variant that unmaps, so that a later write is seen.
  void discard(std::span<const BlockSpan> spans);

 private:
  PageMask touched(const BlockSpan& span) const;
  PageMask enclosed(const BlockSpan& span) const;
  void migrate(Work& work, const BlockSpan& span, ProcessorId destination);
  void map(Work& work, const BlockSpan& span, ProcessorId destination);
  bool charge(Work& work, const BlockSpan& span, ProcessorId destination) const;
  void set_preferred(Work& work, BlockIndex block, const PageMask& pages, ProcessorId processor);
  void spend_on_host_block(Work& work, BlockIndex block, const PageMask& pages) const;
  void set_read_mostly(Work& work, BlockIndex block, const PageMask& pages);
  void unset_read_mostly(Work& work, BlockIndex block, const PageMask& pages);

  DriverContext& context_;
  Residency& residency_;
  Thrashing& thrashing_;
  config::DriverCosts call_costs_;  // of the steps of a prefetch: nothing but what they evict or allocate on the host
};

}  // namespace uvmsim::driver
