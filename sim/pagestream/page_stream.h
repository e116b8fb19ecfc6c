// SPDX-License-Identifier: Apache-2.0
// The pages that a trace's kernels touch, one after the other: the input of cache simulators.
//
// Which accesses count, and in which order:
// - Kernels and sets of managed memory count; copies and the host do not, because their accesses bypass a GPU's
//   replacement.
// - A recorded order of touches is used as it is. Otherwise the order is phase by phase. Within a phase (or a kernel
//   without phases) all operands advance together, each at a speed proportional to its length, inputs before outputs:
//   this is the order in which the resident blocks of a kernel move through the operands. (If a kernel has no phases
//   but its blocks walk an operand repeatedly, as in matrix products, each page appears once.)
// - Consecutive touches of one page count as one.
//
// Pages are numbered as if no address were ever reused: a 2 MB block that is freed and allocated again gets a new
// number, so that old contents do not count as hits. Within an object, neighbours stay neighbours.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sim/layout/layout.h"
#include "sim/memory/address_space.h"
#include "sim/trace/record.h"

namespace uvmsim::pagestream {

class PageStream {
 public:
  // `page_bytes` is 4096, 65536 or 2097152. Throws InputError for another number, and for an unknown layout.
  PageStream(const trace::Header& header, std::uint64_t page_bytes, const layout::LayoutChoice& layout);

  // Adds validated records in program order. Calls `touch(page)` for each page that the record touches. Throws
  // InputError for records that the layout refuses (layout.h) and for accesses outside their object.
  void add(const trace::Record& record, const std::function<void(std::uint64_t page)>& touch);

 private:
  struct Part {
    std::uint32_t slot;
    std::span<const trace::Extent> extents;
  };
  // Live blocks [key, end), with the number of the first one; the following blocks are numbered consecutively.
  struct Named {
    std::uint64_t end = 0, number = 0;
  };
  void name_blocks(const layout::Placement& placement);
  void forget_blocks(std::uint64_t first, std::uint64_t end);
  std::uint64_t number_of(BlockIndex block) const;
  std::uint64_t page_at(const layout::Placement& placement, std::uint64_t byte) const;
  std::vector<std::uint64_t> pages_of(const layout::Placement& placement, std::span<const trace::Extent> extents) const;
  void add_kernel(const trace::Kernel& kernel, const std::function<void(std::uint64_t)>& touch);
  void add_parts(const trace::Kernel& kernel, std::vector<Part> parts, const std::function<void(std::uint64_t)>& touch);

  std::uint64_t quantum_bytes_, page_bytes_;
  AddressSpace space_;
  layout::Layout layout_;
  std::map<std::uint64_t, Named> numbers_;
  std::uint64_t next_number_ = 0;
  std::uint64_t last_page_ = ~std::uint64_t{0};
};

}  // namespace uvmsim::pagestream
