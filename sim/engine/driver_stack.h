// SPDX-License-Identifier: Apache-2.0
// The driver as a process sees it, from its policies to the calls and faults that it serves.
//
// What the driver knows of a process (thrashing, pins, access counters, the prefetcher's history) is the process's own,
// as it is of a va_space of NVIDIA UVM; memory, links and fault threads are the machine's.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/driver/access_counters.h"
#include "sim/driver/chunk_prefetch.h"
#include "sim/driver/coherent_counters.h"
#include "sim/driver/device_memory.h"
#include "sim/driver/host_faults.h"
#include "sim/driver/system_memory.h"
#include "sim/driver/user_calls.h"
#include "sim/engine/operation.h"
#include "sim/engine/plans.h"
#include "sim/engine/policy_set.h"

namespace uvmsim::engine {

class DriverStack {
 public:
  // `accounts` may be null. All must outlive it.
  DriverStack(Process& process, const layout::Layout& layout, EventSink* accounts);
  ~DriverStack();

  // Building the machine: first the state of every GPU of the process, in the machine's order; then, when all GPUs are
  // there, what serves them. Throw InputError for policies and limits.
  driver::GpuState make_gpu(unsigned gpu);
  // Of a GPU that another process made.
  void use_gpu(unsigned gpu);
  void connect();
  // After all processes are connected: those it shares GPUs with know of each other, by region of the address space. A
  // bit per GPU whose memory others may take away.
  void share(const std::vector<driver::DriverContext*>& processes, std::uint32_t contended_gpus);

  driver::DriverContext& context() { return *context_; }
  const driver::DriverContext& context() const { return *context_; }
  driver::HostFaults& host_faults() { return *host_faults_; }
  driver::UserCalls& user_calls() { return *user_calls_; }
  driver::AccessCounters& access_counters() { return *access_counters_; }
  driver::DeviceMemory& device_memory() { return *device_memory_; }
  driver::SystemMemory* system_memory() { return system_memory_.get(); }              // null: GPUs reach none
  driver::CoherentCounters* coherent_counters() { return coherent_counters_.get(); }  // null: the link is not coherent
  Plans* plans() { return plans_.get(); }                                             // null: no planner
  const PolicySet& policies() const { return policies_; }
  bool may_lose_pages(unsigned gpu) const { return (contended_gpus_ & gpu_processor(gpu).bit()) != 0; }

  // A fault thread, a planner or a prefetcher goes on.
  void on_event(const Event& event);
  // A planner's commands go on: the fault batch is fetched then. Now: nothing hinders it.
  Nanoseconds fetch_at(const Event& event);
  // Planners and service threads that look ahead act before kernels compute up to the next event.
  void look();

  // The program's memory: a block, and all that the record gave back.
  void release(BlockIndex block);
  void freed(std::uint64_t record) { policies_.pass(record); }

  // A kernel of a record starts or ends on its GPU: planners, policies and pins hear of it. When it ends, what access
  // counters ask for is served; returns when that is done.
  void kernel_starts(const KernelOperation& operation, const KernelWork& work, std::uint64_t record, Nanoseconds now);
  Nanoseconds kernel_ends(const KernelOperation& operation, Nanoseconds now);
  // What is there of the pages that a kernel uses. Seen where it starts and ends; what faults meanwhile, the driver
  // sees.
  void note_access_bits(const KernelWork& work, unsigned gpu);
  void begin_iteration() { policies_.begin_iteration(); }

  // False: what planners know, and where spare chunks lie, is not compared.
  bool comparable() const { return !plans_ && !process_.machine.harvest; }
  void add_state(StateDigest& digest) const;

 private:
  void note_touches(const KernelWork& work, unsigned gpu);
  void join_harvest(driver::Harvest& harvest);
  void prefetch(unsigned gpu);
  void schedule_prefetch(unsigned gpu);

  Process& process_;
  const layout::Layout& layout_;
  EventSink* const accounts_;
  EventQueue& events_;
  AddressSpace& space_;
  std::vector<driver::GpuState>& gpus_;                   // all of the machine
  std::vector<std::unique_ptr<FaultLoop>>& fault_loops_;  // likewise
  PolicySet policies_;
  std::uint32_t contended_gpus_ = 0;
  std::unique_ptr<driver::DriverContext> context_;
  std::unique_ptr<driver::Residency> residency_;
  std::unique_ptr<driver::Thrashing> thrashing_;
  std::unique_ptr<driver::HarvestMoves> harvest_moves_;    // null: it does not harvest
  std::unique_ptr<driver::ChunkPrefetch> chunk_prefetch_;  // null: nothing comes after a fault batch
  std::vector<Nanoseconds> prefetch_at_;                   // by GPU: its event on the clock
  std::unique_ptr<driver::FaultService> fault_service_;
  std::unique_ptr<driver::AccessCounters> access_counters_;
  std::unique_ptr<driver::SystemMemory> system_memory_;
  std::unique_ptr<driver::CoherentCounters> coherent_counters_;
  std::unique_ptr<driver::HostFaults> host_faults_;
  std::unique_ptr<driver::UserCalls> user_calls_;
  std::unique_ptr<driver::DeviceMemory> device_memory_;
  std::unique_ptr<Plans> plans_;
};

}  // namespace uvmsim::engine
