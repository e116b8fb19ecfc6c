// SPDX-License-Identifier: Apache-2.0
// Copies of pages over links: pushes to copy engines, along the way that was chosen.
#pragma once

#include <vector>

#include "sim/driver/context.h"

namespace uvmsim::driver {

// Pages of a block that move, disjoint, and why. Prefetched ones are kPrefetch.
struct Load {
  PageMask demanded;
  PageMask prefetched;
  TransferCause cause = TransferCause::kFault;

  PageMask pages() const { return demanded | prefetched; }
  Load part(const PageMask& mask) const { return {demanded & mask, prefetched & mask, cause}; }
};

struct Path {
  ProcessorId from, to;  // one of them the host, or two GPUs
};

class PageCopies {
 public:
  explicit PageCopies(DriverContext& context) : context_(context) {}

  // One push: a run per maximal stretch of contiguous pages with one cause. Returns when the last one ends.
  Nanoseconds push(Work& work, BlockIndex block, const Path& path, Nanoseconds start, const Load& load);
  // Stripe by stripe, hop by hop. Returns when the source has been read.
  Nanoseconds carry(Work& work, BlockIndex block, const Path& path, const policy::Route& way, Nanoseconds start,
                    const Load& load);

 private:
  DriverContext& context_;
  std::vector<TransferEvent> runs_;  // of the push in hand
};

}  // namespace uvmsim::driver
