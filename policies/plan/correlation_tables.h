// SPDX-License-Identifier: Apache-2.0
// DeepUM's two correlation tables: which kernel follows which, and which blocks a kernel faults on in which order.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sim/common/units.h"

namespace uvmsim::policy {

using ExecutionId = std::uint32_t;

// Predicts the next execution from the present one and the three before it.
class ExecutionTable {
 public:
  using History = std::array<ExecutionId, 4>;  // the present one last

  static void append(History& history, ExecutionId next) {
    std::rotate(history.begin(), history.begin() + 1, history.end());
    history.back() = next;
  }

  void record(const History& history, ExecutionId next) {
    std::vector<Record>& records = records_[history.back()];
    const auto same =
        std::find_if(records.begin(), records.end(), [&](const Record& r) { return r.history == history; });
    if (same != records.end()) records.erase(same);
    records.push_back({history, next});
  }
  // Predicts by the whole history, else by the last successor of the present execution.
  std::optional<ExecutionId> predict(const History& history) const {
    const auto found = records_.find(history.back());
    if (found == records_.end()) return std::nullopt;
    for (const Record& record : found->second) {
      if (record.history == history) return record.next;
    }
    return found->second.back().next;
  }

 private:
  struct Record {
    History history;
    ExecutionId next;
  };
  std::unordered_map<ExecutionId, std::vector<Record>> records_;  // by the present one; the latest record last
};

// The blocks of one execution, each with the blocks that faulted next after it. The table is set-associative, of `rows`
// blocks.
class BlockTable {
 public:
  struct Shape {
    std::size_t rows = 2048, ways = 2, successors = 4;
  };
  explicit BlockTable(const Shape& shape) : shape_(shape) {}

  // Called when the execution begins anew.
  void restart() { last_.reset(); }
  // Records a fault on the block. A known block keeps its place: blocks that are prefetched in time fault no more, and
  // the remaining faults would tear the chain apart.
  void record(BlockIndex block) {
    if (Row* known = find(block)) {
      known->used = ++clock_;
    } else {
      const std::optional<BlockIndex> before = last_ ? last_ : end_;
      insert(block);
      if (!start_) start_ = block;
      if (before) add_successor(*before, block);
      end_ = block;
    }
    last_ = block;
  }

  std::optional<BlockIndex> start() const { return start_; }
  std::optional<BlockIndex> end() const { return end_; }

  // Returns all blocks reachable from one, breadth first, each once, beginning with itself; by default from the start.
  std::vector<BlockIndex> chain() const { return start_ ? chain(*start_) : std::vector<BlockIndex>{}; }
  std::vector<BlockIndex> chain(BlockIndex from) const {
    std::vector<BlockIndex> blocks{from};
    std::unordered_set<std::uint64_t> seen{from.value};
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const Row* row = find(blocks[i]);
      if (row == nullptr) continue;
      for (const BlockIndex next : row->successors) {
        if (seen.insert(next.value).second) blocks.push_back(next);
      }
    }
    return blocks;
  }

 private:
  struct Row {
    BlockIndex block;
    std::uint64_t used = 0;
    std::vector<BlockIndex> successors;  // the latest first
  };
  using Set = std::vector<Row>;

  std::uint64_t set_of(BlockIndex block) const {
    return block.value % std::max<std::size_t>(shape_.rows / shape_.ways, 1);
  }
  const Row* find(BlockIndex block) const {
    const auto set = sets_.find(set_of(block));
    if (set == sets_.end()) return nullptr;
    for (const Row& row : set->second) {
      if (row.block == block) return &row;
    }
    return nullptr;
  }
  Row* find(BlockIndex block) { return const_cast<Row*>(std::as_const(*this).find(block)); }
  void insert(BlockIndex block) {
    Set& set = sets_[set_of(block)];
    if (set.size() == shape_.ways) {
      set.erase(std::min_element(set.begin(), set.end(), [](const Row& a, const Row& b) { return a.used < b.used; }));
    }
    set.push_back({block, ++clock_, {}});
  }
  void add_successor(BlockIndex block, BlockIndex next) {
    Row* row = find(block);
    if (row == nullptr) return;  // displaced by another block
    row->successors.insert(row->successors.begin(), next);
    if (row->successors.size() > shape_.successors) row->successors.pop_back();
  }

  Shape shape_;
  std::unordered_map<std::uint64_t, Set> sets_;
  std::optional<BlockIndex> start_, end_, last_;
  std::uint64_t clock_ = 0;
};

}  // namespace uvmsim::policy
