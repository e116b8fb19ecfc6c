// Walks the slices [u/U, (u+1)/U) of an operand in order of u, without a division per unit.
#pragma once

#include <algorithm>

#include "sim/engine/kernel_work.h"

namespace uvmsim::engine {

class SliceCursor {
 public:
  // The first call of next() is for `unit`.
  SliceCursor(const Operand& operand, std::uint64_t units, std::uint64_t unit)
      : operand_(&operand),
        units_(units),
        whole_(operand.pages / units),
        rest_(operand.pages % units),
        begin_(operand.pages * unit / units),
        sum_(rest_ * unit % units) {}

  // Calls f(run) for the pages of the present unit's slice, then moves on to the next unit.
  template <class F>
  void next(F&& f) {
    std::uint64_t page = begin_;
    begin_ += whole_;
    sum_ += rest_;
    if (sum_ >= units_) {
      sum_ -= units_;
      ++begin_;
    }
    const std::uint64_t end = begin_ + (sum_ != 0 ? 1 : 0);  // a page that two slices share belongs to both
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
  std::uint64_t units_, whole_, rest_;
  std::uint64_t begin_, sum_;
  std::size_t segment_ = 0;
};

}  // namespace uvmsim::engine
