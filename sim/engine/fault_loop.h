// The driver's service thread of one GPU: when it wakes, fetches a batch, services it, flushes and replays.
//
// Follows NVIDIA UVM 580 uvm_gpu_replayable_faults.c: one thread per GPU; a bottom half takes up to 20 batches; after
// each (BATCH_FLUSH) it waits for the batch's GPU work, flushes the buffer, replays, and looks for more.
#pragma once

#include <vector>

#include "sim/driver/fault_service.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/kernel_run.h"

namespace uvmsim::engine {

class FaultLoop {
 public:
  FaultLoop(unsigned gpu, driver::DriverContext& context, driver::FaultService& service, EventQueue& events);

  gmmu::FaultBuffer& buffer() { return buffer_; }
  KernelRun::Buffers& run_buffers() { return run_buffers_; }
  void attach(KernelRun& run) { runs_.push_back(&run); }
  void detach(KernelRun& run) { std::erase(runs_, &run); }
  bool has_runs() const { return !runs_.empty(); }

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

  Nanoseconds ns(std::uint64_t n) const { return Nanoseconds(static_cast<std::int64_t>(n)); }
  Nanoseconds wakeup_after(Nanoseconds sleep) const;
  void wake(bool faults_waiting);
  void begin_service();
  void fetch_at(Nanoseconds time);
  // Runs the kernels until a fault is in the buffer; false when none comes, or none before the next event.
  bool await_fault();

  unsigned gpu_;
  driver::DriverContext& context_;
  driver::FaultService& service_;
  EventQueue& events_;
  gmmu::FaultBuffer buffer_;
  KernelRun::Buffers run_buffers_;
  std::vector<KernelRun*> runs_;
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
