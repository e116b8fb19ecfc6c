// SPDX-License-Identifier: Apache-2.0
// A kernel's accesses over a coherent link, in their order: what they cost where memory is, and what access counters
// move meanwhile.
//
// The kernel's accesses are cut into pieces of one page of the host, in the order in which its blocks come to them. Its
// faults make it wait for the driver's thread, in each VA block where the density tree faults: at pieces 0, 1, 2, 4, 8
// and so on, in equal parts. A piece takes its share of the kernel's own time, and where it lies on the host the larger
// of two: its bytes over the link, or its own time and what its warps wait longer than for the GPU's memory:
// remote_latency_ns less local_latency_ns for what they read, store_latency_ns for what they write, for as many bytes
// at once as they have under way. Counters see it, and the driver's thread moves pages while the kernel goes on: pieces
// that come later find them on the GPU.
#pragma once

#include <utility>
#include <vector>

#include "sim/driver/coherent_counters.h"
#include "sim/engine/kernel_work.h"
#include "sim/engine/process.h"
#include "sim/link/remote_lane.h"

namespace uvmsim::engine {

// Managed pages that a GPU used in place when a kernel began: what the kernel's own faults evict later it used before.
// Ascending by block.
using InPlaceAtStart = std::vector<std::pair<BlockIndex, PageMask>>;

class CoherentPass {
 public:
  CoherentPass(Process& process, const layout::Layout& layout, driver::CoherentCounters& counters)
      : process_(process), layout_(layout), counters_(counters), space_(process.machine.space) {}

  // Of what the kernel touches, as things are.
  InPlaceAtStart in_place(const KernelWork& work, unsigned gpu) const;
  // When a kernel ends that began at `start` and, without what this adds, ends at `computed`; of that time it waited
  // `faulted` for the driver. `at_start`: null if all is as it was at its start. `images`: as plan_kernel() takes it.
  Nanoseconds end(const KernelWork& work, const trace::Kernel& kernel, Nanoseconds start, Nanoseconds computed,
                  Nanoseconds faulted, const InPlaceAtStart* at_start, std::uint64_t images);

 private:
  // Of one page of the host at most, contiguous.
  struct Piece {
    std::uint64_t when = 0;  // place in the kernel's order
    BlockIndex block;
    std::uint16_t first = 0;  // page
    bool read = false, write = false;
    std::uint32_t bytes = 0;
    std::uint32_t slot = 0;
    std::uint32_t fault_bytes = 0;  // the kernel faults here for so many
  };
  void cut(const KernelWork& work, const trace::Kernel& kernel);
  void spread_faults(std::size_t first, std::size_t end);

  Process& process_;
  const layout::Layout& layout_;
  driver::CoherentCounters& counters_;
  AddressSpace& space_;
  std::vector<Piece> pieces_;
};

}  // namespace uvmsim::engine
