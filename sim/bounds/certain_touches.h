// SPDX-License-Identifier: Apache-2.0
// What a kernel touches and computes at least, however its faults are served and whatever policies have populated
// before.
//
// How the engine plays a kernel depends on which of the pages that it both reads and writes hold anything when it
// starts (engine/kernel_work.h): those are inputs too. Prefetchers populate pages without a touch, so this is not
// known. Every kernel is looked at twice: as if no page held anything, and as if all did; between the two, inputs grow.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/engine/kernel_work.h"

namespace uvmsim::bounds {

class CertainTouches {
 public:
  // `none` and `all`: the kernel planned in an address space in which no page holds anything, and in which all do.
  CertainTouches(const trace::Kernel& kernel, const engine::KernelWork& none, const engine::KernelWork& all)
      : kernel_(kernel), none_(none), all_(all) {}

  // Calls f(segment) for the pages that some unit touches for certain; a page may come several times. The patterns
  // leave pages out of some outputs: step_pages.h writes only the last part of a small result, tile_pages.h only pieces
  // of a convolution's output.
  void for_each_segment(const std::function<void(const engine::Segment&)>& f) const;

  // Time of the kernel when every access passes at once. A kernel that faults is played in steps of whole nanoseconds,
  // which may add up to a little less than its duration.
  std::int64_t least_duration_ns() const;

 private:
  bool writes_every_page(const engine::Section& section, const engine::Section& with_all,
                         const engine::Operand& output) const;

  const trace::Kernel& kernel_;
  const engine::KernelWork& none_;
  const engine::KernelWork& all_;
};

}  // namespace uvmsim::bounds
