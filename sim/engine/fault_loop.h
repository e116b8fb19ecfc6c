// SPDX-License-Identifier: Apache-2.0
// The driver's fault service thread of one GPU: it wakes, fetches a batch, services it, flushes and replays.
//
// Follows NVIDIA UVM 580 uvm_gpu_replayable_faults.c: one thread per GPU; a bottom half takes up to 20 batches; after
// each (BATCH_FLUSH) it waits for the batch's GPU work, flushes the buffer, replays, and looks for more.
//
// Processes that share the GPU share its fault buffer and this thread. A batch may hold faults of several processes;
// they are serviced process after process, in the order of the driver's va_spaces (here: of the programs). Each process
// counts its part of the batch; the flush and the replay count for the first process of the batch.
#pragma once

#include <vector>

#include "sim/driver/fault_service.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/kernel_run.h"

namespace uvmsim::engine {

class FaultLoop {
 public:
  FaultLoop(unsigned gpu, const config::SystemConfig& system, const AddressSpace& space, EventQueue& events);

  // Adds a process that computes on the GPU, by its region of the address space. Call in ascending order of regions.
  void join(unsigned region, driver::DriverContext& context, driver::FaultService& service) {
    processes_.push_back({region, &context, &service, {}});
    batcher_ = context.gpus[gpu_].batcher;
  }

  gmmu::FaultBuffer& buffer() { return buffer_; }
  KernelRun::Buffers& run_buffers() { return run_buffers_; }
  void attach(KernelRun& run) { runs_.push_back(&run); }
  void detach(KernelRun& run) { std::erase(runs_, &run); }

  // Lets the kernels compute up to `now`. Call before anything else changes residency.
  void advance(Nanoseconds now);
  // Lets an idle service thread find the next fault. Call after a kernel started.
  void look() { wake(false); }
  // Keeps kernels from computing past the next event, which may change residency. The caller must then call look()
  // after every event.
  void stop_at_events() { stops_at_events_ = true; }
  // Returns whether a batch is in service, or is due to be fetched.
  bool needs_thread(Nanoseconds now) const {
    return state_ == State::kServicing || (state_ == State::kFetching && fetch_at_ <= now);
  }
  // The state cannot be compared while faults are serviced or a kernel runs.
  void add_state(StateDigest& digest) const;
  void on_fetch();   // EventKind::kFetch
  void on_replay();  // EventKind::kReplay

 private:
  enum class State : std::uint8_t { kIdle, kFetching, kServicing };
  struct Process {
    unsigned region = 0;
    driver::DriverContext* context = nullptr;
    driver::FaultService* service = nullptr;
    std::vector<gmmu::FaultEntry> part;  // its part of the current batch, if processes share the GPU
  };
  // The part of a batch that was serviced for one process.
  struct Part {
    std::size_t process = 0;
    std::uint32_t raw = 0, sms = 0;             // SMs only with an event sink
    std::span<const gmmu::FaultEntry> entries;  // valid until the next fetch
    driver::BatchSummary summary;
  };

  Nanoseconds ns(std::uint64_t n) const { return Nanoseconds(static_cast<std::int64_t>(n)); }
  Nanoseconds wakeup_after(Nanoseconds sleep) const;
  void wake(bool faults_waiting);
  bool release_sms();
  std::uint32_t fetch_limit(Nanoseconds now);
  void ask_for_sms(Nanoseconds begin, std::uint32_t raw, const driver::BatchSummary& summary);
  void begin_service();
  void fetch_at(Nanoseconds time);
  // Runs the kernels until a fault is in the buffer. Returns false if none comes, after stop_at_events() if none comes
  // before the next event.
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
  std::vector<Process> processes_;
  std::size_t lead_ = 0;  // the first process of the last batch
  std::vector<Part> parts_;
  std::vector<FetchedFault> fetched_;  // of one part, for an event sink
  gmmu::FaultBuffer buffer_;
  KernelRun::Buffers run_buffers_;
  std::vector<KernelRun*> runs_;
  std::shared_ptr<policy::Batcher> batcher_;  // null: the driver's own policy
  Nanoseconds put_off_{};                     // delay of the next batch so far
  std::uint32_t running_sms_ = 0;             // SMs that the next replay reaches
  bool holds_sms_ = false;                    // the last replay did not reach all SMs
  State state_ = State::kIdle;
  std::uint32_t batches_this_service_ = 0;
  std::uint32_t throttled_this_service_ = 0;
  Nanoseconds last_end_{};     // when the thread went on after the last replay
  Nanoseconds replay_lead_{};  // how long before that the GPU replayed
  bool served_before_ = false;
  bool stops_at_events_ = false;
  Nanoseconds fetch_at_{};  // when the next batch is due
};

}  // namespace uvmsim::engine
