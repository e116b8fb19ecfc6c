// A kernel's accesses after layout, cut into the units in which its thread blocks consume them.
//
// The touched pages of each operand form one ascending sequence. How threads share it out follows the record:
//   blocks   unit u of U takes the share [u/U, (u+1)/U) of every operand (block-linear kernels, phases, and grid-stride
//            loops, whose unit is one block's step). Units start in order as lanes become free, so the lanes together
//            form a front that moves through the operands in address order.
//   threads  every thread walks its own contiguous share of the touch list or of the operands; a unit is one warp.
// A lane is what stalls together: a resident thread block (or several that share a page), or a warp.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/config/system.h"
#include "sim/layout/layout.h"
#include "sim/trace/record.h"

namespace uvmsim::engine {

// A stretch of contiguous touched pages inside one block.
struct Segment {
  BlockIndex block;
  std::uint16_t first = 0, count = 0;
  std::uint64_t ordinal = 0;  // of its first page in the operand
};

struct PageRef {
  BlockIndex block;
  std::uint16_t page = 0;
  bool write = false;
};

struct Operand {
  bool write = false;
  std::uint64_t pages = 0;
  std::vector<Segment> segments;

  PageRef page(std::uint64_t ordinal) const;
};

// Units [first_unit, first_unit + units) share these operands: the whole kernel, or one phase.
struct Section {
  std::uint64_t first_unit = 0, units = 0;
  std::uint32_t steps = 1;  // of one unit
  std::vector<Operand> operands;
};

struct KernelWork {
  bool by_threads = false;
  std::vector<Section> sections;
  std::uint64_t units = 0;
  std::uint32_t lanes = 1;          // resident at once
  std::uint32_t lanes_per_sm_group = 1;  // consecutive lanes on one SM (warps of a block)
  std::uint32_t faults_per_page = 1;     // raw faults of a lane for one page: warps that touch it together
  std::uint32_t outstanding = 1;         // most pages one lane may wait for at once
  Nanoseconds step{};                    // compute per step
  bool explicit_touches = false;
  // by_threads with a touch list
  std::vector<PageRef> touches;
  std::uint64_t threads = 0;
  std::uint64_t chunk = 0;  // touches (or pages per operand) of one thread

  // Every page the kernel touches, as segments, each operand apart.
  template <class F>
  void for_each_segment(F&& f) const {
    for (const Section& section : sections) {
      for (const Operand& operand : section.operands) {
        for (const Segment& segment : operand.segments) f(segment, operand.write);
      }
    }
  }
};

// Thread blocks that one SM holds at once (CUDA occupancy: threads, blocks, registers, shared memory).
std::uint32_t blocks_per_sm(const config::GpuConfig& gpu, const trace::Kernel& kernel);

// Throws InputError for accesses outside their object or to objects that are not allocated.
KernelWork plan_kernel(const trace::Kernel& kernel, std::uint32_t quantum_bytes, const layout::Layout& layout,
                       const config::SystemConfig& system);

}  // namespace uvmsim::engine
