// SPDX-License-Identifier: Apache-2.0
// The calls of the program to the driver: prefetch, advice, discard.
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
  // Applies advice to the hints of memory; pinning (kSetPinned, kUnsetPinned) is done by AddressSpace::pin instead.
  static void change(Hints& hints, trace::Advice advice, ProcessorId processor);

  UserCalls(DriverContext& context, Residency& residency, Thrashing& thrashing);

  // The end of the driver's thread, for which the caller waits, and the end of the last copy.
  struct Times {
    Nanoseconds returned, done;
  };
  // Executes cudaMemPrefetchAsync of the spans, ascending. To the host, the thread waits for every copy before it maps
  // the pages there. If the range does not fit, its tail evicts its head, as in the driver.
  Times prefetch(std::span<const BlockSpan> spans, ProcessorId destination, Nanoseconds start);
  // Executes cudaMemAdvise of the spans, which moves no pages: pages of the spans get the hint, others of the same
  // block do not. Returns when the call returns.
  Nanoseconds advise(std::span<const BlockSpan> spans, trace::Advice advice, ProcessorId processor, Nanoseconds start);
  // Executes cudaMemDiscardBatchAsync in the driver's variant that unmaps the pages, so that a later write faults.
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
  config::DriverCosts call_costs_;  // costs of the steps of a prefetch: all are 0 except evictions and host allocations
};

}  // namespace uvmsim::driver
