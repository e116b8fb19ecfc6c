// SPDX-License-Identifier: Apache-2.0
// The costs of a kernel's accesses over a coherent link, in their order, while access counters move the pages that it
// uses.
//
// The kernel's accesses are cut into pieces of one host page, in the order in which its thread blocks reach them. Its
// waits for the driver's thread are spread in equal parts over the pieces at which the density tree faults: pieces 0,
// 1, 2, 4, 8 and so on of each VA block. A piece takes its share of the kernel's own time. If it lies on the host, it
// takes the larger of two times: that of its bytes on the link, or its share plus the longer latency of host memory.
// That latency is remote_latency_ns - local_latency_ns for reads and store_latency_ns for stores, once per as many
// bytes as the warps have under way. Access counters see the piece, and the driver's thread moves pages while the
// kernel goes on; later pieces find them on the GPU.
#pragma once

#include <utility>
#include <vector>

#include "sim/driver/coherent_counters.h"
#include "sim/engine/kernel_work.h"
#include "sim/engine/process.h"
#include "sim/link/remote_lane.h"

namespace uvmsim::engine {

// Managed pages that a GPU used in place when a kernel began, ascending by block. Pages that the kernel's own faults
// evict later are not among them: the kernel used them before.
using InPlaceAtStart = std::vector<std::pair<BlockIndex, PageMask>>;

class CoherentPass {
 public:
  CoherentPass(Process& process, const layout::Layout& layout, driver::CoherentCounters& counters)
      : process_(process), layout_(layout), counters_(counters), space_(process.machine.space) {}

  // Returns the managed pages used in place now, of the blocks that the kernel touches.
  InPlaceAtStart in_place(const KernelWork& work, unsigned gpu) const;
  // Returns the end of a kernel that began at `start` and, without remote accesses, would end at `computed`; it waited
  // `faulted` of that time for the driver. `at_start` is null if all pages are where they were at its start. `images`:
  // see plan_kernel().
  Nanoseconds end(const KernelWork& work, const trace::Kernel& kernel, Nanoseconds start, Nanoseconds computed,
                  Nanoseconds faulted, const InPlaceAtStart* at_start, std::uint64_t images);

 private:
  // A contiguous piece of at most one host page.
  struct Piece {
    std::uint64_t when = 0;  // position in the kernel's order
    BlockIndex block;
    std::uint16_t first = 0;  // page
    bool read = false, write = false;
    std::uint32_t bytes = 0;
    std::uint32_t slot = 0;
    std::uint32_t fault_bytes = 0;  // bytes of the faults that the kernel waits for here
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
