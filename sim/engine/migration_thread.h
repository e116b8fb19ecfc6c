// SPDX-License-Identifier: Apache-2.0
// The thread that carries out the plan of one GPU. Fault batches go first; while none is due, the thread takes the
// planner's commands one by one. (DeepUM, ASPLOS 2023: fault queue and prefetch queue of its migration thread.)
//
// Between a replay and the fetch of the next batch there is time for one prefetch, so that the plan overtakes a kernel
// with a storm of faults. A prefetch's copy goes on while the thread takes the next command, with at most two copies
// under way: the link does not idle between blocks, and a batch waits for two blocks at most. Pages of a prefetch are
// booked as resident when it begins, and mapped when their copy is done; a kernel that needs them earlier faults.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/common/sparse_table.h"
#include "sim/driver/residency.h"
#include "sim/driver/thrashing.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/fault_loop.h"
#include "sim/engine/live_memory.h"
#include "sim/policy/planner.h"

namespace uvmsim::engine {

class MigrationThread final : public driver::PlanHooks, private policy::PlanQueries {
 public:
  // The parts that the thread uses; all must outlive it.
  struct Parts {
    driver::DriverContext& context;
    driver::Residency& residency;
    driver::Thrashing& thrashing;
    std::vector<std::unique_ptr<FaultLoop>>& fault_loops;
    const LiveMemory& live_memory;
    EventQueue& events;
  };
  MigrationThread(unsigned gpu, std::shared_ptr<policy::Planner> planner, const policy::PolicyInfo& info,
                  const Parts& parts);

  const std::shared_ptr<policy::Planner>& planner() const { return planner_; }
  // Returns the planner if it may know of kernels, else null.
  policy::Planner* kernel_listener() const { return sees_kernels_ ? planner_.get() : nullptr; }

  // Takes a command if the thread is idle. Call after every event that may change the planner's answer.
  void look();
  // Handles EventKind::kPlan: maps the pages of copies that are done.
  void on_done();
  // Returns when the commands in progress are done, so that a fault batch can be fetched.
  Nanoseconds idle_at() const;
  // Keeps the planner from evicting the block until `end`: a kernel that found all its memory mapped uses it.
  void keep(BlockIndex block, Nanoseconds end);

  void on_faulted(BlockIndex block, const PageMask& pages) override { planner_->on_faulted(block, pages); }
  void on_migrated(BlockIndex block) override { planner_->on_migrated(block); }
  void on_released(BlockIndex block) override { planner_->on_released(block); }
  std::optional<Victim> victim(driver::Work& work) override;

 private:
  static constexpr std::size_t kMostCopies = 2;
  static constexpr unsigned kCommandsPerTurn = 4;  // evictions, which do not wait for their copies, and a prefetch
  struct Copy {
    Nanoseconds done;
    BlockIndex block;
    PageMask pages;
  };

  PageMask missing(BlockIndex block) const override;
  bool evictable(BlockIndex block) const override;
  bool inactive(BlockIndex block) const override;
  std::uint32_t free_chunks() const override;
  Nanoseconds now() const override { return now_; }

  bool known(BlockIndex block) const;
  std::optional<policy::PlanCommand> decision();
  bool carry_out(const policy::PlanCommand& command);
  bool prefetch(driver::Work& work, BlockIndex block, const PageMask& asked);
  bool evict(driver::Work& work, BlockIndex block, bool drop);
  void begin_change();

  unsigned gpu_;
  std::shared_ptr<policy::Planner> planner_;
  Nanoseconds decision_cost_;
  bool sees_kernels_;
  Parts parts_;
  Nanoseconds now_{};
  Nanoseconds free_at_{};        // when the thread itself is free
  policy::PlanCommand decided_;  // takes effect at decided_at_; kNone: no decision is pending
  Nanoseconds decided_at_{};
  Nanoseconds timer_at_{-1};  // when the planner asked to be called again
  std::string label_;
  std::vector<Copy> copies_;             // in flight
  SparseTable<Nanoseconds> kept_until_;  // by block
};

}  // namespace uvmsim::engine
