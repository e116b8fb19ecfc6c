// SPDX-License-Identifier: Apache-2.0
// The driver's service thread of one GPU: when it wakes, fetches a batch, services it, flushes and replays.
//
// Follows NVIDIA UVM 580 uvm_gpu_replayable_faults.c: one thread per GPU; a bottom half takes up to 20 batches; after
// each (BATCH_FLUSH) it waits for the batch's GPU work, flushes the buffer, replays, and looks for more.
//
// Processes that share the GPU share its fault buffer and this thread. A batch may hold faults of several: it services
// them process after process, in the order of the driver's va_spaces (here: of the programs). What it counts for a
// process is that process's part; the flush and the replay count for the first process of the batch.
#pragma once

#include <vector>

#include "sim/driver/fault_service.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/kernel_run.h"

namespace uvmsim::engine {

class FaultLoop {
 public:
  FaultLoop(unsigned gpu, const config::SystemConfig& system, const AddressSpace& space, EventQueue& events);

  // The process with that region of the address space computes on the GPU. Regions join in ascending order.
  void join(unsigned region, driver::DriverContext& context, driver::FaultService& service) {
    processes_.push_back({region, &context, &service, {}});
    batcher_ = context.gpus[gpu_].batcher;
  }

  gmmu::FaultBuffer& buffer() { return buffer_; }
  KernelRun::Buffers& run_buffers() { return run_buffers_; }
  void attach(KernelRun& run) { runs_.push_back(&run); }
  void detach(KernelRun& run) { std::erase(runs_, &run); }

  // Kernels compute up to `now`; call before anything changes residency from outside.
  void advance(Nanoseconds now);
  // Lets an idle service thread find the next fault. Call after a kernel started.
  void look() { wake(false); }
  // Kernels may not compute past the next event, which may change what they find: look() after every one.
  void stop_at_events() { stops_at_events_ = true; }
  // A batch is in service, or is due to be fetched.
  bool needs_thread(Nanoseconds now) const {
    return state_ == State::kServicing || (state_ == State::kFetching && fetch_at_ <= now);
  }
  // Refuses while faults are serviced or a kernel runs.
  void add_state(StateDigest& digest) const;
  void on_fetch();   // EventKind::kFetch
  void on_replay();  // EventKind::kReplay

 private:
  enum class State : std::uint8_t { kIdle, kFetching, kServicing };
  struct Process {
    unsigned region = 0;
    driver::DriverContext* context = nullptr;
    driver::FaultService* service = nullptr;
    std::vector<gmmu::FaultEntry> part;  // of the batch in hand, where processes share the GPU
  };
  // What of the batch was serviced for one process.
  struct Part {
    std::size_t process = 0;
    std::uint32_t raw = 0;
    driver::BatchSummary summary;
    std::uint32_t sms = 0;  // counted for who listens to events
  };

  Nanoseconds ns(std::uint64_t n) const { return Nanoseconds(static_cast<std::int64_t>(n)); }
  Nanoseconds wakeup_after(Nanoseconds sleep) const;
  void wake(bool faults_waiting);
  bool release_sms();
  std::uint32_t fetch_limit(Nanoseconds now);
  std::uint64_t evictions() const;
  void ask_for_sms(Nanoseconds begin, std::uint32_t raw, std::uint32_t evictions, const driver::BatchSummary& summary);
  void begin_service();
  void fetch_at(Nanoseconds time);
  // Runs the kernels until a fault is in the buffer; false when none comes, or none before the next event.
  bool await_fault();
  const config::DriverCosts& costs() const { return system_.costs; }
  Counters& counters() const { return processes_[lead_].context->counters; }
  driver::BatchSummary service(std::span<const gmmu::FaultEntry> entries, std::uint32_t raw, Nanoseconds now);
  driver::BatchSummary service_part(std::size_t process, std::span<const gmmu::FaultEntry> entries, std::uint32_t raw,
                                    Nanoseconds now);

  unsigned gpu_;
  const config::SystemConfig& system_;
  const AddressSpace& space_;
  EventQueue& events_;
  std::vector<bool> seen_sms_;
  std::vector<Process> processes_;
  std::size_t lead_ = 0;  // the first process of the last batch
  std::vector<Part> parts_;
  gmmu::FaultBuffer buffer_;
  KernelRun::Buffers run_buffers_;
  std::vector<KernelRun*> runs_;
  std::shared_ptr<policy::Batcher> batcher_;  // null: the driver's own
  Nanoseconds put_off_{};                     // the batch to come, by it
  std::uint32_t running_sms_ = 0;             // that the replay to come reaches
  bool holds_sms_ = false;                    // the last one did not reach all
  State state_ = State::kIdle;
  std::uint32_t batches_this_service_ = 0;
  std::uint32_t throttled_this_service_ = 0;
  Nanoseconds last_end_{};     // the thread went on after the last replay
  Nanoseconds replay_lead_{};  // how long before that the GPU replayed
  bool served_before_ = false;
  bool stops_at_events_ = false;
  Nanoseconds fetch_at_{};  // when the next batch is due
};

}  // namespace uvmsim::engine
