// SPDX-License-Identifier: Apache-2.0
// The driver as a process sees it, from its policies to the calls and faults that it serves.
//
// Thrashing, pins, access counters and the prefetcher's history belong to the process, as they belong to a va_space of
// NVIDIA UVM; memory, links and fault threads belong to the machine.
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
  // `accounts` may be null. All arguments must outlive the object.
  DriverStack(Process& process, const layout::Layout& layout, EventSink* accounts);
  ~DriverStack();

  // These build the machine: make_gpu() or use_gpu() for every GPU of the process, in the machine's order; when all
  // GPUs are there, connect(). They throw InputError for policies and limits.
  driver::GpuState make_gpu(unsigned gpu);
  // Uses a GPU that another process made.
  void use_gpu(unsigned gpu);
  void connect();
  // Call after all processes are connected, if the process shares GPUs. `processes`: all of the machine, by region of
  // the address space. `contended_gpus`: a bit per GPU whose memory other processes may take.
  void share(const std::vector<driver::DriverContext*>& processes, std::uint32_t contended_gpus);

  driver::DriverContext& context() { return *context_; }
  const driver::DriverContext& context() const { return *context_; }
  driver::HostFaults& host_faults() { return *host_faults_; }
  driver::UserCalls& user_calls() { return *user_calls_; }
  driver::AccessCounters& access_counters() { return *access_counters_; }
  driver::DeviceMemory& device_memory() { return *device_memory_; }
  driver::SystemMemory* system_memory() { return system_memory_.get(); }              // null: no GPU reaches it
  driver::CoherentCounters* coherent_counters() { return coherent_counters_.get(); }  // null: the link is not coherent
  Plans* plans() { return plans_.get(); }                                             // null: no planner
  const PolicySet& policies() const { return policies_; }
  bool may_lose_pages(unsigned gpu) const { return (contended_gpus_ & gpu_processor(gpu).bit()) != 0; }

  // Handles an event of a fault thread, a planner or a prefetcher.
  void on_event(const Event& event);
  // Returns the time at which the event can be handled: a fetch waits until the planner's commands in progress are
  // done.
  Nanoseconds fetch_at(const Event& event);

  // Report memory of the program that a record frees: release() for each block, freed() after the last one.
  void release(BlockIndex block);
  void freed(std::uint64_t record) { policies_.pass(record); }

  // These notify planners, policies and pins that a kernel starts or ends on its GPU. kernel_ends() also serves the
  // notifications of access counters; it returns when that is done.
  void kernel_starts(const KernelOperation& operation, const KernelWork& work, std::uint64_t record, Nanoseconds now);
  Nanoseconds kernel_ends(const KernelOperation& operation, Nanoseconds now);
  // Notes for policies which of the pages that a kernel uses are resident. Call when it starts and ends; the driver
  // notes pages that fault meanwhile.
  void note_access_bits(const KernelWork& work, unsigned gpu);
  void begin_iteration() { policies_.begin_iteration(); }

  // Returns false if part of the state is not compared: what planners know, and where spare chunks lie.
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
  std::vector<driver::GpuState>& gpus_;                   // of the machine
  std::vector<std::unique_ptr<FaultLoop>>& fault_loops_;  // of the machine
  PolicySet policies_;
  std::uint32_t contended_gpus_ = 0;
  std::unique_ptr<driver::DriverContext> context_;
  std::unique_ptr<driver::Residency> residency_;
  std::unique_ptr<driver::Thrashing> thrashing_;
  std::unique_ptr<driver::HarvestMoves> harvest_moves_;    // null: no harvesting
  std::unique_ptr<driver::ChunkPrefetch> chunk_prefetch_;  // null: no prefetch after fault batches
  std::vector<Nanoseconds> prefetch_at_;                   // by GPU: time of its next event; kNever: none
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
