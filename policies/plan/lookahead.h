// SPDX-License-Identifier: Apache-2.0
// The common part of planners that look some kernels ahead: the kernels expected next with their blocks, the next block
// to prefetch for them, and the next one to evict.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sim/common/sparse_table.h"
#include "sim/policy/planner.h"

namespace uvmsim::policy {

class Lookahead {
 public:
  struct Options {
    bool prefetch = true;              // false: only chooses victims
    bool drop_inactive = true;         // evicts blocks that hold nothing without a copy
    std::uint32_t reserve_chunks = 0;  // chunks to keep free; 0: evicts only when a prefetch needs a chunk
  };
  explicit Lookahead(const Options& options) : options_(options) {}

  // Expected kernels, the running one in front; the blocks of each in the order in which they are fetched, each once.
  std::size_t size() const { return kernels_.size(); }
  void push(std::vector<BlockIndex> blocks) {
    for (const BlockIndex b : blocks) change_users(b, +1);
    kernels_.push_back(std::move(blocks));
  }
  void pop() { remove(0); }
  void remove(std::size_t kernel) {
    for (const BlockIndex b : kernels_[kernel]) change_users(b, -1);
    kernels_.erase(kernels_.begin() + static_cast<std::ptrdiff_t>(kernel));
    if (kernel < kernel_) {
      --kernel_;
    } else if (kernel == kernel_) {
      block_ = 0;
    }
  }
  void clear() {
    while (!kernels_.empty()) pop();
    rewind();
  }
  // Adds blocks that the running kernel needs too.
  void add_to_front(const std::vector<BlockIndex>& blocks) {
    for (const BlockIndex b : blocks) {
      if (users_of(b) != 0) continue;
      change_users(b, +1);
      kernels_.front().push_back(b);
      rewind();
    }
  }
  bool expects(BlockIndex b) const { return users_of(b) != 0; }

  void on_migrated(BlockIndex b) {
    Block& block = at(b);
    if (block.order != kAway && block.users == 0) victims_.erase({block.order, b.value});
    block.order = ++clock_;
    if (block.users == 0) victims_.insert({block.order, b.value});
  }
  void on_released(BlockIndex b) {
    Block& block = at(b);
    if (block.order != kAway && block.users == 0) victims_.erase({block.order, b.value});
    block.order = kAway;
    if (block.users != 0) rewind();
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
      for (; kernel_ < kernels_.size(); ++kernel_, block_ = 0) {
        for (; block_ < kernels_[kernel_].size(); ++block_) {
          const BlockIndex b = kernels_[kernel_][block_];
          const PageMask missing = queries.missing(b);
          if (missing.empty()) continue;
          if (queries.free_chunks() == 0) return victim(queries);  // none: wait until the kernel ends
          ++block_;
          return {PlanCommand::Kind::kPrefetch, b, missing};
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
  static constexpr std::uint64_t kAway = 0;
  struct Block {
    std::uint64_t order = kAway;  // order of its last migration; kAway: not on the GPU
    std::uint32_t users = 0;      // expected kernels
  };

  Block& at(BlockIndex b) { return blocks_[b.value]; }
  std::uint32_t users_of(BlockIndex b) const { return blocks_.value(b.value).users; }
  void change_users(BlockIndex b, int by) {
    Block& block = at(b);
    const bool was_free = block.users == 0;
    block.users = static_cast<std::uint32_t>(static_cast<int>(block.users) + by);
    if (block.order == kAway || was_free == (block.users == 0)) return;
    if (was_free) {
      victims_.erase({block.order, b.value});
    } else {
      victims_.insert({block.order, b.value});
    }
  }
  void rewind() { kernel_ = block_ = 0; }

  Options options_;
  std::deque<std::vector<BlockIndex>> kernels_;
  std::size_t kernel_ = 0, block_ = 0;  // the next block to look at
  SparseTable<Block> blocks_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> victims_;  // order, block
  std::uint64_t clock_ = kAway;
};

// Returns the blocks of a kernel's memory, each once. Kernels walk through all their operands at the same time: the
// first blocks of all operands come first.
inline std::vector<BlockIndex> blocks_of(const KernelLaunch& kernel) {
  struct Part {
    std::uint64_t numerator, denominator;  // the position within its operand
    BlockIndex block;
  };
  std::vector<Part> parts;
  for (const KernelArgument& argument : kernel.arguments) {
    std::uint64_t i = 0;
    for (const BlockPages& part : argument.memory) parts.push_back({i++, argument.memory.size(), part.block});
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.numerator * b.denominator < b.numerator * a.denominator;
  });
  std::vector<BlockIndex> blocks;
  std::unordered_set<std::uint64_t> seen;
  for (const Part& part : parts) {
    if (seen.insert(part.block.value).second) blocks.push_back(part.block);
  }
  return blocks;
}

}  // namespace uvmsim::policy
