// SPDX-License-Identifier: Apache-2.0
// A base for prefetchers that work in 64 KB units of the address space: they see one stream of faulted units and name
// units to fetch, in any block.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/policy/policy.h"

namespace uvmsim::policy {

// The stream consists of the faulted units of each served block, ascending. A faulted unit is always fetched whole. CPU
// faults are not in the stream and fetch nothing else. Thrashing pages are left out.
class UnitPrefetcher : public Prefetcher {
 public:
  // Virtual address / 64 KB; signed, so that differences may be negative.
  using Unit = std::int64_t;

  PageMask prefetch(const FaultedBlock& block) final {
    elsewhere_.clear();
    if (block.to_host) return {};
    block_ = static_cast<Unit>(block.block.value * kBigPagesPerBlock);
    allocation_first_ = static_cast<Unit>(block.allocation.first.value / kPagesPerBigPage);
    allocation_end_ = static_cast<Unit>(block.allocation.end.value / kPagesPerBigPage);
    here_ = block.faulted.grown_to_big_pages();
    const PageMask units = here_;
    for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
      if (units.test(unit * kPagesPerBigPage)) on_fault(block_ + unit);
    }
    return here_ - block.thrashing;
  }
  void prefetch_beyond(const FaultedBlock&, const PrefetchQueries&, std::vector<PageSpan>& spans) final {
    spans.insert(spans.end(), elsewhere_.begin(), elsewhere_.end());
  }

 protected:
  // Called for each faulted unit; calls want() for each unit to fetch with it.
  virtual void on_fault(Unit unit) = 0;

  // want() fetches the unit if it is in the allocation of the faulted unit; want_anywhere() fetches any unit.
  void want(Unit unit) {
    if (unit >= allocation_first_ && unit < allocation_end_) want_anywhere(unit);
  }
  void want_anywhere(Unit unit) {
    if (unit < 0) return;
    if (unit >= block_ && unit < block_ + kBigPagesPerBlock) {
      here_.set_range(static_cast<unsigned>(unit - block_) * kPagesPerBigPage, kPagesPerBigPage);
      return;
    }
    const PageIndex first(static_cast<std::uint64_t>(unit) * kPagesPerBigPage);
    const PageIndex end = first + PageIndex(kPagesPerBigPage);
    if (!elsewhere_.empty() && elsewhere_.back().end == first) {
      elsewhere_.back().end = end;
    } else {
      elsewhere_.push_back({first, end});
    }
  }
  // Identifies the allocation of the faulted unit by its first unit.
  Unit allocation() const { return allocation_first_; }

 private:
  Unit block_ = 0, allocation_first_ = 0, allocation_end_ = 0;
  PageMask here_;
  std::vector<PageSpan> elsewhere_;
};

}  // namespace uvmsim::policy
