// SPDX-License-Identifier: Apache-2.0
// Carries out swaps: which regions leave when a kernel ends, and which return when one begins. Memory that the program
// frees is dropped, and memory that it allocates is populated while the kernel before its first use runs, as a
// framework would do.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "policies/plan/swap_program.h"

namespace uvmsim::policy {

class SwapRunner {
 public:
  // The program must outlive it.
  explicit SwapRunner(const SwapProgram& program)
      : program_(program), at_begin_(program.resident.size()), at_end_(program.resident.size()) {
    for (std::size_t region = 0; region < program.regions.size(); ++region) {
      come_at_birth(region, program.regions[region].first);
    }
    for (const Idle& idle : program.idle) {
      if (idle.live) continue;
      at_end_[idle.from].push_back({idle.region, idle.to});
      come_at_birth(idle.region, idle.to);
    }
  }

  // Makes the region leave when kernel `from` ends, if kernel `to`, its next user, has not begun.
  void leave(std::size_t region, KernelNumber from, KernelNumber to) { at_end_[from].push_back({region, to}); }
  // Makes the region return when kernel `at` begins, for kernel `to`; at once if it has begun.
  void come(std::size_t region, KernelNumber at, KernelNumber to) {
    if (at < begun_) {
      queue(coming_, {region, to});
    } else {
      at_begin_[at].push_back({region, to});
    }
  }

  void on_begin(KernelNumber kernel) {
    for (; begun_ <= kernel && begun_ < at_begin_.size(); ++begun_) {
      for (const Move& move : at_begin_[begun_]) queue(coming_, move);
    }
  }
  void on_end(KernelNumber kernel) {
    if (kernel >= at_end_.size()) return;
    for (const Move& move : at_end_[kernel]) queue(leaving_, move);
  }

  PlanCommand next(const PlanQueries& queries) {
    while (!leaving_.empty()) {
      const auto [block, to] = leaving_.front();
      leaving_.pop_front();
      if (to < begun_ || !queries.evictable(block)) continue;  // used again, or gone
      return {queries.inactive(block) ? PlanCommand::Kind::kDrop : PlanCommand::Kind::kEvict, block, {}};
    }
    for (; !coming_.empty(); coming_.pop_front()) {
      const auto [block, to] = coming_.front();
      const PageMask missing = queries.missing(block);
      if (missing.empty() || to + 1 < begun_) continue;  // present, or its kernel has ended
      if (queries.free_chunks() == 0) return {};
      coming_.pop_front();
      return {PlanCommand::Kind::kPrefetch, block, missing};
    }
    return {};
  }

 private:
  struct Move {
    std::size_t region;
    KernelNumber to;
  };
  using Queue = std::deque<std::pair<BlockIndex, KernelNumber>>;

  void come_at_birth(std::size_t region, KernelNumber use) {
    if (use != 0) at_begin_[use - 1].push_back({region, use});
  }
  void queue(Queue& queue, const Move& move) {
    for (const BlockIndex b : program_.regions[move.region].blocks) queue.emplace_back(b, move.to);
  }

  const SwapProgram& program_;
  std::vector<std::vector<Move>> at_begin_, at_end_;  // by kernel
  KernelNumber begun_ = 0;                            // number of kernels that have begun
  Queue leaving_, coming_;                            // blocks with their next user
};

}  // namespace uvmsim::policy
