// SPDX-License-Identifier: Apache-2.0
// The pages that a trace's kernels touch, one after the other: the stream that cache simulators want.
//
// What counts and in which order:
//  - Kernels and sets of managed memory; not copies and not the host, whose accesses go past a GPU's replacement.
//  - A recorded order of touches as it is; else phase by phase, and within a phase (or a kernel without) all operands
//    advance together, each as fast as it is long, inputs before outputs: the order in which resident blocks form a
//    front that moves through the operands. (A kernel without phases whose blocks walk an operand again and again, as
//    matrix products do, shows each page once.)
//  - Touches of one page that follow each other are one.
// Pages are numbered as if no address were ever used twice: a 2 MB block that is freed and allocated anew gets a new
// number, so that old contents are no hits. Within an object, neighbours stay neighbours.
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
  // Live blocks [key, end): the first one's number, which those behind count on.
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
