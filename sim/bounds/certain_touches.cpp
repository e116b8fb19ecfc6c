// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/certain_touches.h"

#include <algorithm>

namespace uvmsim::bounds {

namespace {

constexpr std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

// Follows convolution_stores() in engine/tile_pages.h; the tiles of a product cover all of its output.
bool convolution_writes_every_page(const engine::ConvolutionShape& shape, const engine::Operand& output) {
  const std::uint64_t most_pages = divide_up(output.pages, shape.batches);
  const std::uint64_t pieces = output.pages / shape.batches * kBasePageBytes / shape.blocks / 1024;
  return divide_up(most_pages, shape.groups()) <= std::max<std::uint64_t>(1, pieces) * shape.group;
}

std::int64_t time_of_steps(const engine::KernelWork& work) {
  std::uint64_t steps = 0;
  for (const engine::Section& section : work.sections) steps += section.units * section.steps;
  return work.step.value * static_cast<std::int64_t>(divide_up(steps, work.resident_units));
}

}  // namespace

// Returns whether every page of the output is certainly written. `section` is planned as if no page held anything,
// `with_all` as if all did.
bool CertainTouches::writes_every_page(const engine::Section& section, const engine::Section& with_all,
                                       const engine::Operand& output) const {
  switch (none_.pattern) {
    case engine::Pattern::kSlices:
      // Larger inputs make more units, never fewer, and may turn an output into one that is written at the end of each
      // slice only. Then its last page is; neighbouring slices share the page at their border.
      return none_.rows || stores_in_every_step(with_all, output) || output.pages <= section.units;
    case engine::Pattern::kTiles:
      return convolution_writes_every_page(engine::ConvolutionShape::of(kernel_), output);
    case engine::Pattern::kStride:
    case engine::Pattern::kPlanes:
    case engine::Pattern::kThreads:
      return true;
  }
  return false;
}

void CertainTouches::for_each_segment(const std::function<void(const engine::Segment&)>& f) const {
  for (std::size_t i = 0; i < none_.sections.size(); ++i) {
    for (const engine::Operand& operand : none_.sections[i].operands) {
      if (operand.write && !writes_every_page(none_.sections[i], all_.sections[i], operand)) continue;
      operand.for_each_segment(f);
    }
  }
  for (const engine::PageRef& page : none_.touches) f({page.block, page.page, 1, 0});
}

std::int64_t CertainTouches::least_duration_ns() const {
  const std::int64_t longest = std::max<std::int64_t>(kernel_.duration_ns, 0);
  return std::clamp<std::int64_t>(std::min(time_of_steps(none_), time_of_steps(all_)), 0, longest);
}

}  // namespace uvmsim::bounds
