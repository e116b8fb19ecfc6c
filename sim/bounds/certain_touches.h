// SPDX-License-Identifier: Apache-2.0
// The pages that a kernel certainly touches, and its least time, however its faults are served and whatever policies
// have populated before.
//
// The engine's replay of a kernel depends on which of the pages that it both reads and writes hold data at its start
// (engine/kernel_work.h): those are inputs too. Prefetchers populate pages without a touch, so these pages are not
// known. Every kernel is therefore planned twice: as if no page held data, and as if all did. In between, inputs grow.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/engine/kernel_work.h"

namespace uvmsim::bounds {

class CertainTouches {
 public:
  // `none` and `all` are the kernel planned in an address space in which no page holds data, and in which all do.
  CertainTouches(const trace::Kernel& kernel, const engine::KernelWork& none, const engine::KernelWork& all)
      : kernel_(kernel), none_(none), all_(all) {}

  // Calls f(segment) for the pages that some unit certainly touches; a page may come several times. Some patterns omit
  // pages of outputs: step_pages.h writes only the last part of a small result, tile_pages.h only parts of a
  // convolution's output.
  void for_each_segment(const std::function<void(const engine::Segment&)>& f) const;

  // Time of the kernel when no access waits. A kernel that faults is replayed in steps of whole nanoseconds, which may
  // add up to slightly less than its duration.
  std::int64_t least_duration_ns() const;

 private:
  bool writes_every_page(const engine::Section& section, const engine::Section& with_all,
                         const engine::Operand& output) const;

  const trace::Kernel& kernel_;
  const engine::KernelWork& none_;
  const engine::KernelWork& all_;
};

}  // namespace uvmsim::bounds
