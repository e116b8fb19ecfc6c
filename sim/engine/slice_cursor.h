// Walks the slices [u/U, (u+1)/U) of an operand in order of u, without a division per unit.
#pragma once

#include <algorithm>

#include "sim/engine/even_steps.h"
#include "sim/engine/kernel_work.h"

namespace uvmsim::engine {

class SliceCursor {
 public:
  // The first call of next() is for `unit`.
  SliceCursor(const Operand& operand, std::uint64_t units, std::uint64_t unit)
      : operand_(&operand), boundary_(operand.pages * unit, operand.pages, units) {}

  // Calls f(run) for the pages of the present unit's slice, then moves on to the next unit.
  template <class F>
  void next(F&& f) {
    std::uint64_t page = boundary_.value();
    boundary_.advance();
    const std::uint64_t end =
        boundary_.value() + (boundary_.exact() ? 0 : 1);  // a page that two slices share is both's
    while (page < end) {
      while (segment_ + 1 < operand_->segments.size() && operand_->segments[segment_ + 1].ordinal <= page) ++segment_;
      const Segment& segment = operand_->segments[segment_];
      if (page < segment.ordinal) {  // the slice before began in the previous segment
        const PageRun run = operand_->run(page, std::min(end, segment.ordinal));
        page += run.count;
        f(run);
        continue;
      }
      const std::uint64_t into = page - segment.ordinal;
      const std::uint64_t count = std::min(segment.count - into, end - page);
      page += count;
      f(PageRun{segment.block, static_cast<std::uint16_t>(segment.first + into), static_cast<std::uint16_t>(count),
                operand_->write});
    }
  }

 private:
  const Operand* operand_;
  EvenSteps boundary_;  // where a slice begins
  std::size_t segment_ = 0;
};

}  // namespace uvmsim::engine
