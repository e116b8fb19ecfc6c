// SPDX-License-Identifier: Apache-2.0
// The common part of planners that look some kernels ahead: the kernels expected next with their blocks, the next block
// to prefetch for them, and the next one to evict. Memory grows with the runs of these blocks and with those on the
// GPU.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/common/range_map.h"
#include "sim/policy/planner.h"

namespace uvmsim::policy {

// Blocks: the blocks of a kernel, a class of kernel_blocks.h.
template <class Blocks>
class Lookahead {
 public:
  struct Options {
    bool prefetch = true;              // false: only chooses victims
    bool drop_inactive = true;         // evicts blocks that hold nothing without a copy
    std::uint32_t reserve_chunks = 0;  // chunks to keep free; 0: evicts only when a prefetch needs a chunk
  };
  explicit Lookahead(const Options& options) : options_(options) {}

  // Expected kernels, the running one in front.
  std::size_t size() const { return kernels_.size(); }
  void push(Blocks blocks) {
    blocks.for_each_run([&](const BlockRun& run) { change_users(run, +1); });
    kernels_.push_back(std::move(blocks));
  }
  void pop() { remove(0); }
  void remove(std::size_t kernel) {
    kernels_[kernel].for_each_run([&](const BlockRun& run) { change_users(run, -1); });
    kernels_.erase(kernels_.begin() + static_cast<std::ptrdiff_t>(kernel));
    if (kernel < kernel_) {
      --kernel_;
    } else if (kernel == kernel_) {
      place_.reset();
    }
  }
  void clear() {
    while (!kernels_.empty()) pop();
    rewind();
  }
  // Adds blocks that the running kernel needs too.
  void add_to_front(const std::vector<BlockIndex>& blocks) {
    for (const BlockIndex b : blocks) {
      if (expects(b)) continue;
      change_users({b, 1}, +1);
      kernels_.front().append(b);
      rewind();
    }
  }
  bool expects(BlockIndex b) const { return users_.value(b.value) != 0; }

  void on_migrated(BlockIndex b) {
    std::uint64_t& order = here_[b.value];
    const bool needed = expects(b);
    if (!needed) victims_.erase({order, b.value});
    order = ++clock_;
    if (!needed) victims_.insert({order, b.value});
  }
  void on_released(BlockIndex b) {
    const bool needed = expects(b);
    if (const auto found = here_.find(b.value); found != here_.end()) {
      if (!needed) victims_.erase({found->second, b.value});
      here_.erase(found);
    }
    if (needed) rewind();
  }

  // Keeps the reserve of free chunks, else prefetches in order. When all blocks of the known kernels are present it
  // calls `more()`, which adds another kernel or returns false.
  template <class More>
  PlanCommand next(const PlanQueries& queries, const More& more) {
    if (queries.free_chunks() < options_.reserve_chunks) {
      if (const PlanCommand command = victim(queries); command.kind != PlanCommand::Kind::kNone) return command;
    }
    if (!options_.prefetch) return {};
    for (;;) {
      for (; kernel_ < kernels_.size(); ++kernel_, place_.reset()) {
        const Blocks& blocks = kernels_[kernel_];
        if (!place_) place_ = blocks.begin();
        for (; const std::optional<BlockIndex> b = blocks.at(*place_); blocks.advance(*place_)) {
          const PageMask missing = queries.missing(*b);
          if (missing.empty()) continue;
          if (queries.free_chunks() == 0) return victim(queries);  // none: wait until the kernel ends
          blocks.advance(*place_);
          return {PlanCommand::Kind::kPrefetch, *b, missing};
        }
      }
      if (!more()) return {};
    }
  }

  // Returns the longest present block that no expected kernel needs.
  PlanCommand victim(const PlanQueries& queries) const {
    for (const auto& [order, value] : victims_) {
      const BlockIndex b(value);
      if (!queries.evictable(b)) continue;
      const bool drop = options_.drop_inactive && queries.inactive(b);
      return {drop ? PlanCommand::Kind::kDrop : PlanCommand::Kind::kEvict, b, {}};
    }
    return {};
  }

 private:
  void change_users(const BlockRun& run, int by) {
    changes_.clear();
    users_.for_each(run.first.value, run.first.value + run.count,
                    [&](std::uint64_t first, std::uint64_t end, std::uint32_t users) {
                      changes_.push_back({first, end, users, static_cast<std::uint32_t>(static_cast<int>(users) + by)});
                    });
    for (const Change& change : changes_) {
      users_.assign(change.first, change.end, change.after);
      if ((change.before == 0) == (change.after == 0)) continue;
      for (auto block = here_.lower_bound(change.first); block != here_.end() && block->first < change.end; ++block) {
        if (change.after == 0) {
          victims_.insert({block->second, block->first});
        } else {
          victims_.erase({block->second, block->first});
        }
      }
    }
  }
  void rewind() {
    kernel_ = 0;
    place_.reset();
  }

  Options options_;
  std::deque<Blocks> kernels_;
  std::size_t kernel_ = 0;                       // of the next block to look at
  std::optional<typename Blocks::Place> place_;  // its place in that kernel; none: the first one
  RangeMap<std::uint32_t> users_;                // by block: the expected kernels that need it
  struct Change {
    std::uint64_t first = 0, end = 0;
    std::uint32_t before = 0, after = 0;
  };
  std::vector<Change> changes_;
  std::map<std::uint64_t, std::uint64_t> here_;                // blocks on the GPU: the order of their last migrations
  std::set<std::pair<std::uint64_t, std::uint64_t>> victims_;  // order, block: those that no expected kernel needs
  std::uint64_t clock_ = 0;
};

}  // namespace uvmsim::policy
