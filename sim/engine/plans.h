// SPDX-License-Identifier: Apache-2.0
// The planners of a run, one per GPU, with their migration threads. The engine's reports reach the planners through
// this class.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/engine/kernel_work.h"
#include "sim/engine/live_memory.h"
#include "sim/engine/migration_thread.h"
#include "sim/engine/simulation.h"
#include "sim/layout/layout.h"
#include "sim/policy/kernel_future.h"

namespace uvmsim::engine {

class Plans {
 public:
  // Connects a planner per GPU to the driver. `future`: for planners of class D4, else null.
  Plans(std::vector<std::shared_ptr<policy::Planner>> planners, const policy::PolicyInfo& info,
        const policy::KernelFuture* future, const layout::Layout& layout, driver::DriverContext& context,
        driver::Residency& residency, driver::Thrashing& thrashing,
        std::vector<std::unique_ptr<FaultLoop>>& fault_loops, EventQueue& events);

  // The host reports here, record by record.
  void allocated(trace::ObjectId id, std::uint64_t record, bool is_segment = false);
  void freed(trace::ObjectId id, std::uint64_t record) { live_memory_.freed(id, record); }
  void issues(const trace::Record& record, std::uint64_t number);
  std::uint64_t launched(const trace::Kernel& kernel);  // returns its number on its GPU

  // The GPUs' work is reported here.
  void work_begins(std::uint64_t record) { live_memory_.begins(record); }
  void work_done_before(std::uint64_t record) { live_memory_.done_before(record); }
  void kernel_begins(const trace::Kernel& kernel, std::uint64_t launch);
  // Keeps the kernel's blocks from eviction by the planner: it found everything mapped, so that its accesses are not
  // checked again before its end.
  void keep(const KernelWork& work, unsigned gpu, Nanoseconds end);
  void kernel_ends(const trace::Kernel& kernel, std::uint64_t launch);

  void look() {
    for (const auto& thread : threads_) thread->look();
  }
  MigrationThread& thread(unsigned gpu) { return *threads_[gpu]; }

 private:
  policy::KernelLaunch view(const trace::Kernel& kernel, std::uint64_t launch);

  const policy::KernelFuture* future_;
  const layout::Layout& layout_;
  LiveMemory live_memory_;
  std::vector<std::unique_ptr<MigrationThread>> threads_;
  std::vector<std::uint64_t> launches_;  // by GPU
  std::vector<policy::KernelArgument> arguments_;
  std::vector<policy::BlockRun> runs_;
};

}  // namespace uvmsim::engine
