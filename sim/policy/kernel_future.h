// SPDX-License-Identifier: Apache-2.0
// The kernels of a program before it runs, for planners of class D4.
//
// Types ensure that only they receive it: a planner whose constructor takes (const PolicyContext&, const KernelFuture&)
// is registered only if it declares class D4, and a class D4 planner only with this constructor.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/common/units.h"

namespace uvmsim::policy {

// A kernel's use of a memory block. Objects and tensors are numbered from their allocation to their free: newly
// allocated memory has a new number. A block that holds several objects has a use for each.
struct FutureUse {
  BlockIndex block;
  std::uint64_t object = 0;
};

// A kernel, or a copy or memset of managed memory.
struct FutureKernel {
  Nanoseconds duration{};            // with everything resident
  std::vector<FutureUse> uses = {};  // in the order in which it walks through its operands, each block and object once
};

struct KernelFuture {
  std::vector<FutureKernel> kernels = {};  // of one GPU, in the order of KernelLaunch::number
  // The machine: GPU memory in chunks of 2 MB, and the link to the host.
  std::uint32_t chunks = 0;
  std::uint64_t htod_bytes_per_us = 1, dtoh_bytes_per_us = 1;
  Nanoseconds link_latency{};
};

}  // namespace uvmsim::policy
