// SPDX-License-Identifier: Apache-2.0
// One traced program on a server: its host thread, its streams, and the driver as its process sees it. Its counters
// count everything that happens in its events.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/accounts.h"
#include "sim/engine/driver_stack.h"
#include "sim/engine/host_thread.h"
#include "sim/engine/iterations.h"
#include "sim/engine/process.h"
#include "sim/engine/repetition.h"
#include "sim/engine/streams.h"
#include "sim/layout/layout.h"

namespace uvmsim::engine {

class Program final : private HostThread::Listener {
 public:
  Program(Machine& machine, std::uint16_t number, const Hosted& hosted);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const Process& process() const { return process_; }
  const std::string& name() const { return process_.name; }
  DriverStack& driver() { return driver_; }
  const DriverStack& driver() const { return driver_; }
  // Time slices of a shared GPU suspend and resume the streams.
  Streams& streams() { return streams_; }
  const Streams& streams() const { return streams_; }

  // Schedules the host's first step.
  void start() { host_.start(); }
  // Handles an event of the machine that belongs to the program.
  void on_event(const Event& event);
  // Call after an event of any program, if blocks are prefetched after batches or GPUs are shared: lets kernels compute
  // up to the next event.
  void look();
  // Returns whether no event of the program is due any more: it has ended, or waits for an event that never comes.
  bool idle() const { return !host_.scheduled() && !streams_.at_work(); }
  // Returns the result after the run. Throws ModelError if work is left in a stream. A program that is cut off ends at
  // the present time.
  RunResult finish();
  // Returns the number of iterations that were counted without a replay because they recur (recurrence.h).
  std::uint64_t left_out_iterations() const { return iterations_.left_out(); }

 private:
  void before_repetition() override { repetition_.before(); }
  void repetition_begins() override;

  Process process_;
  layout::Layout layout_;
  Accounts accounts_;
  DriverStack driver_;
  Iterations iterations_;
  Streams streams_;
  HostThread host_;
  Repetition repetition_;
};

}  // namespace uvmsim::engine
