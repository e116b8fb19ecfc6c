// SPDX-License-Identifier: Apache-2.0
// The part of the GPU that turns misses into raw faults, one after the other, for all SMs.
//
// A fault is cheap for the page that its SM faulted on last, dearer for another page, and dearest in a VA block that
// the unit did not walk lately: then its walk starts from the top. (Measured by what fault batches hold: the more VA
// blocks a kernel's faults are scattered over, the fewer pages are in the buffer when the driver looks.
// sim/engine/README.md)
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "sim/common/units.h"
#include "sim/config/system.h"

namespace uvmsim::gmmu {

class FaultUnit {
 public:
  explicit FaultUnit(const config::GmmuConfig& config)
      : repeat_(ns(config.fault_repeat_ns)),
        page_(ns(config.fault_page_ns)),
        block_(ns(config.fault_block_ns)),
        remembered_(std::min<std::uint64_t>(config.fault_walk_blocks, kMaxBlocks)) {
    walked_.fill(kNoBlock);
  }

  void reset(Nanoseconds now) {
    free_ = now;
    walked_.fill(kNoBlock);
  }

  // At `present`, takes the faults that `warps` warps raise at `now` (not earlier) on one page of a VA block. `repeat`:
  // the SM's last fault was on this page. Returns when the first of them is in the buffer. The unit works on all of
  // them from `present` on, so that an SM may hand in several at once.
  Nanoseconds take(Nanoseconds present, Nanoseconds now, std::uint64_t block, bool repeat, std::uint32_t warps) {
    const Nanoseconds first = repeat ? repeat_ : walk(block);
    free_ = std::max(free_, present) + first;
    const Nanoseconds arrival = std::max(free_, now + first);
    free_ += repeat_ * (warps - 1);
    return arrival;
  }

 private:
  static constexpr std::size_t kMaxBlocks = 16;
  static constexpr std::uint64_t kNoBlock = ~std::uint64_t{0};
  static Nanoseconds ns(std::uint64_t n) { return Nanoseconds(static_cast<std::int64_t>(n)); }

  // The cost of a walk in the block, which becomes the one walked last.
  Nanoseconds walk(std::uint64_t block) {
    if (block == walked_[0] && remembered_ != 0) return page_;
    std::uint64_t later = block;
    for (std::size_t i = 0; i < remembered_; ++i) {
      std::swap(later, walked_[i]);
      if (later == block) return page_;
    }
    return block_;
  }

  Nanoseconds repeat_, page_, block_;  // the costs
  std::uint64_t remembered_;
  std::array<std::uint64_t, kMaxBlocks> walked_;  // latest first
  Nanoseconds free_{};
};

}  // namespace uvmsim::gmmu
