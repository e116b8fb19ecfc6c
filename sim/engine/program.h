// SPDX-License-Identifier: Apache-2.0
// One traced program on a server: its host thread, its streams, and the driver as its process sees it. Whatever happens
// in a program's events counts for it.
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
  // Of a GPU whose time programs share.
  Streams& streams() { return streams_; }
  const Streams& streams() const { return streams_; }

  // The host's first step is on the clock from here on.
  void start() { host_.start(); }
  // Events of the machine that are the program's.
  void on_event(const Event& event);
  // After an event of any program, where blocks come ahead of need or GPUs are shared: kernels compute up to the next
  // one.
  void look();
  // Nothing of it is on the clock any more: it has come to its end, or waits for what never comes.
  bool idle() const { return !host_.scheduled() && !streams_.at_work(); }
  // After the run. Throws InputError where the program waits for what never comes. A program that is cut off ends
  // where the clock stands.
  RunResult finish();
  // Iterations that recurred, so that their results were known without replaying them.
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
