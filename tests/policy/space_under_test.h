// SPDX-License-Identifier: Apache-2.0
// Several blocks under one prefetcher, serviced as the core does: first the faulted block, then the pages that the
// prefetcher wants beyond it.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/policy/registry.h"

namespace uvmsim::policy {

// Allocations of whole blocks, one after the other from block 0 on; no page is resident at the start.
class SpaceUnderTest final : private PrefetchQueries {
 public:
  SpaceUnderTest(std::string_view policy, const GivenParameters& given, std::vector<std::uint64_t> allocations,
                 const Future* future = nullptr)
      : policy_(built_ins()->create<Prefetcher>(policy, given, 1, 64, future)) {
    for (const std::uint64_t blocks : allocations) {
      for (std::uint64_t i = 0; i < blocks; ++i) first_.push_back({end_, end_ + blocks});
      end_ += blocks;
    }
    resident_.resize(static_cast<std::size_t>(end_));
  }

  // Faults on the first page of a 64 KB unit of the space. Returns the units that were fetched, ascending, with the
  // faulted one; nothing if that was resident. Units that were fetched in part count.
  std::vector<std::uint64_t> fault(std::uint64_t unit) { return fault_on(unit * kPagesPerBigPage); }
  std::vector<std::uint64_t> fault_on(std::uint64_t page) {
    const std::uint64_t block = page / kPagesPerBlock;
    PageMask& here = resident_[static_cast<std::size_t>(block)];
    if (here.test(static_cast<unsigned>(page % kPagesPerBlock))) return {};
    ++faults;
    const std::vector<PageMask> before = resident_;
    PageMask faulted;
    faulted.set(static_cast<unsigned>(page % kPagesPerBlock));
    const auto [first, end] = first_[static_cast<std::size_t>(block)];
    const FaultedBlock view{.block = BlockIndex(block),
                            .allocation = {PageIndex(first * kPagesPerBlock), PageIndex(end * kPagesPerBlock)},
                            .resident = here,
                            .faulted = faulted,
                            .thrashing = PageMask(),
                            .now = {}};
    const PageMask come = policy_->prefetch(view) | faulted;
    std::vector<PageSpan> spans;
    policy_->prefetch_beyond(view, *this, spans);
    here |= come;
    wanted_beyond = spans;
    for (const PageSpan& span : spans) {
      for (std::uint64_t p = span.first.value; p < span.end.value && p < end_ * kPagesPerBlock; ++p) {
        resident_[static_cast<std::size_t>(p / kPagesPerBlock)].set(static_cast<unsigned>(p % kPagesPerBlock));
      }
    }
    std::vector<std::uint64_t> units;
    for (std::uint64_t b = 0; b < end_; ++b) {
      const PageMask fresh = resident_[static_cast<std::size_t>(b)] - before[static_cast<std::size_t>(b)];
      for (unsigned unit = 0; unit < kBigPagesPerBlock && !fresh.empty(); ++unit) {
        if (fresh.count_range(unit * kPagesPerBigPage, kPagesPerBigPage) == 0) continue;
        units.push_back(b * kBigPagesPerBlock + unit);
      }
    }
    return units;
  }
  void evict(std::uint64_t block, const PageMask& touched = {}) {
    const PageMask gone = resident_[static_cast<std::size_t>(block)];
    resident_[static_cast<std::size_t>(block)].clear();
    policy_->on_evicted(BlockIndex(block), gone, touched);
  }
  const PageMask& resident(std::uint64_t block) const { return resident_[static_cast<std::size_t>(block)]; }

  std::uint64_t faults = 0;
  std::vector<PageSpan> wanted_beyond;  // by the last fault

 private:
  PageMask missing(BlockIndex block) const override {
    return block.value < end_ ? PageMask::all() - resident_[static_cast<std::size_t>(block.value)] : PageMask{};
  }
  std::uint32_t free_chunks() const override { return 1; }

  struct Blocks {
    std::uint64_t first, end;
  };
  std::shared_ptr<Prefetcher> policy_;
  std::vector<Blocks> first_;  // of each block: its allocation
  std::uint64_t end_ = 0;
  std::vector<PageMask> resident_;
};

}  // namespace uvmsim::policy
