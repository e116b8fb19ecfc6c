// SPDX-License-Identifier: Apache-2.0
// Copies of pages over links: pushes to copy engines, along a route.
#pragma once

#include <vector>

#include "sim/driver/context.h"

namespace uvmsim::driver {

// Disjoint pages of a block that move, with the cause; that of prefetched pages is kPrefetch.
struct Load {
  PageMask demanded;
  PageMask prefetched;
  TransferCause cause = TransferCause::kFault;

  PageMask pages() const { return demanded | prefetched; }
  Load part(const PageMask& mask) const { return {demanded & mask, prefetched & mask, cause}; }
};

struct Path {
  ProcessorId from, to;  // the host and a GPU, or two GPUs
};

class PageCopies {
 public:
  explicit PageCopies(DriverContext& context) : context_(context) {}

  // Issues one push: a run per maximal stretch of contiguous pages with one cause. Returns when the last run ends.
  Nanoseconds push(Work& work, BlockIndex block, const Path& path, Nanoseconds start, const Load& load);
  // Copies along the route, stripe by stripe, hop by hop. Returns when the source has been read.
  Nanoseconds carry(Work& work, BlockIndex block, const Path& path, const policy::Route& way, Nanoseconds start,
                    const Load& load);

 private:
  DriverContext& context_;
  std::vector<TransferEvent> runs_;  // of the current push
};

}  // namespace uvmsim::driver
