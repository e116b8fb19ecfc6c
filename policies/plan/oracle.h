// SPDX-License-Identifier: Apache-2.0
// The common part of planners that know the future: the next use of each block, the next block to fetch, and the next
// one to evict (MIN: the one used farthest in the future).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/common/sparse_table.h"
#include "sim/policy/kernel_future.h"
#include "sim/policy/planner.h"

namespace uvmsim::policy {

// The same numbers as KernelLaunch::number.
using KernelNumber = std::uint64_t;
inline constexpr KernelNumber kNever = ~KernelNumber{0};

class Oracle {
 public:
  explicit Oracle(const KernelFuture& future) : over_(future.kernels.size()), skipped_(future.kernels.size()) {
    for (const FutureKernel& kernel : future.kernels) {
      const KernelNumber number = blocks_of_.size();
      std::vector<BlockIndex>& blocks = blocks_of_.emplace_back();
      for (const FutureUse& use : kernel.uses) {
        std::vector<KernelNumber>& uses = at(use.block).uses;
        if (!uses.empty() && uses.back() == number) continue;  // several objects in the block
        uses.push_back(number);
        blocks.push_back(use.block);
      }
    }
  }

  // The first kernel that has not ended.
  KernelNumber position() const { return position_; }
  // The blocks of each kernel, in the order of its walk.
  const std::vector<std::vector<BlockIndex>>& blocks() const { return blocks_of_; }
  // The next use from the first kernel on that has not ended. Kernels of other streams may run before that one: their
  // blocks count as used now.
  KernelNumber next_use(BlockIndex b) const {
    const Block* const found = blocks_.find(b.value);
    if (found == nullptr) return kNever;
    const Block& block = *found;
    if (block.running != 0) return position_;
    const auto next = std::lower_bound(block.uses.begin(), block.uses.end(), position_);
    return next == block.uses.end() ? kNever : *next;
  }

  void on_launched(KernelNumber number) {  // its memory is allocated by now
    if (number < skipped_.size() && skipped_[number]) rewind(number);
  }
  void on_begin(KernelNumber number) {
    if (number < blocks_of_.size()) change_running(number, +1);
  }
  void on_end(KernelNumber number) {
    if (number >= over_.size()) return;
    change_running(number, -1);
    over_[number] = true;
    while (position_ < over_.size() && over_[position_]) {
      ++position_;
      for (const BlockIndex b : blocks_of_[position_ - 1]) {
        if (at(b).here) list(b);
      }
    }
  }
  void on_migrated(BlockIndex b) {
    at(b).here = true;
    list(b);
  }
  void on_released(BlockIndex b) {
    Block& block = at(b);
    if (block.here) here_.erase({block.listed, b.value});
    block.here = false;
    rewind(next_use(b));
  }

  // The missing block that is used soonest, up to a kernel; the same one again until skip().
  struct Missing {
    BlockIndex block;
    PageMask pages;
    KernelNumber kernel = 0;
  };
  std::optional<Missing> soonest_missing(const PlanQueries& queries, KernelNumber last) {
    if (kernel_ < position_) rewind_to(position_);
    for (; kernel_ < blocks_of_.size() && kernel_ <= last; ++kernel_, block_ = 0) {
      for (; block_ < blocks_of_[kernel_].size(); ++block_) {
        const BlockIndex b = blocks_of_[kernel_][block_];
        const PageMask missing = queries.missing(b);
        if (!missing.empty()) return Missing{b, missing, kernel_};
        if (const Block* block = blocks_.find(b.value); block == nullptr || !block->here) {
          skipped_[kernel_] = true;  // not allocated yet
        }
      }
    }
    return std::nullopt;
  }
  void skip() { ++block_; }

  // Evicts the evictable block used last, if that is after `kernel`; a block that holds nothing is dropped.
  PlanCommand farthest(const PlanQueries& queries, KernelNumber kernel) const {
    for (auto last = here_.rbegin(); last != here_.rend() && last->first > kernel; ++last) {
      const BlockIndex b(last->second);
      if (!queries.evictable(b)) continue;
      return {queries.inactive(b) ? PlanCommand::Kind::kDrop : PlanCommand::Kind::kEvict, b, {}};
    }
    return {};
  }

 private:
  struct Block {
    std::vector<KernelNumber> uses;  // ascending
    KernelNumber listed = kNever;    // its key in here_
    std::uint32_t running = 0;       // running kernels that use it
    bool here = false;
  };

  Block& at(BlockIndex b) { return blocks_[b.value]; }
  void list(BlockIndex b) {
    Block& block = at(b);
    here_.erase({block.listed, b.value});
    block.listed = next_use(b);
    here_.insert({block.listed, b.value});
  }
  void change_running(KernelNumber kernel, int by) {
    for (const BlockIndex b : blocks_of_[kernel]) {
      Block& block = at(b);
      block.running = static_cast<std::uint32_t>(static_cast<int>(block.running) + by);
      if (block.here) list(b);
    }
  }
  void rewind(KernelNumber kernel) {
    if (kernel <= kernel_) rewind_to(kernel);
  }
  void rewind_to(KernelNumber kernel) {
    kernel_ = kernel;
    block_ = 0;
  }

  std::vector<std::vector<BlockIndex>> blocks_of_;  // by kernel
  SparseTable<Block> blocks_;
  std::vector<bool> over_, skipped_;  // by kernel; skipped: looked at before its memory was allocated
  KernelNumber position_ = 0;
  KernelNumber kernel_ = 0;  // the next block to look at
  std::size_t block_ = 0;
  std::set<std::pair<KernelNumber, std::uint64_t>> here_;  // next use, block
};

}  // namespace uvmsim::policy
