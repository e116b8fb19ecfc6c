// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/held_clock.h"

#include <algorithm>

#include "sim/engine/ideal_clock.h"

namespace uvmsim::bounds {

namespace {

class HeldClock {
 public:
  HeldClock(const Program& program, const Steps& steps, const Hold& hold)
      : program_(program), steps_(steps), hold_(hold) {}

  Nanoseconds run() {
    for (const ClockCall& call : program_.clock) add(call);
    return std::max(clock_.end(), held_);
  }

 private:
  void add(const ClockCall& call);
  void finish_operation(Nanoseconds end);
  void finish_step();

  const Program& program_;
  const Steps& steps_;
  const Hold& hold_;
  engine::IdealClock clock_;
  std::size_t operation_ = 0, step_ = 0;
  std::size_t step_begin_ = 0;  // operation
  Nanoseconds step_end_{};      // end of the step's operations so far
  Nanoseconds held_{};          // the earliest end of all finished steps
};

void HeldClock::add(const ClockCall& call) {
  switch (call.kind) {
    case ClockCall::Kind::kHost:
      return clock_.host(call.ns);
    case ClockCall::Kind::kEnqueue:
      if (call.operation) clock_.delay(call.stream, held_);
      clock_.enqueue(call.stream, call.ns);
      if (call.operation) finish_operation(clock_.end_of(call.stream));
      return;
    case ClockCall::Kind::kHostOperation:
      clock_.delay_host(held_);
      return finish_operation(clock_.host_time());
    case ClockCall::Kind::kWaitAll:
      clock_.wait_all();
      return clock_.delay_host(held_);
    case ClockCall::Kind::kWait:
      return clock_.wait(call.stream);
    case ClockCall::Kind::kRecord:
      return clock_.record(call.event, call.stream);
    case ClockCall::Kind::kWaitEvent:
      return clock_.wait_event(call.stream, call.event);
    case ClockCall::Kind::kHostWaitsEvent:
      return clock_.host_waits_event(call.event);
  }
}

void HeldClock::finish_operation(Nanoseconds end) {
  step_end_ = std::max(step_end_, end);
  if (++operation_ == steps_.steps[step_].end_operation) finish_step();
}

void HeldClock::finish_step() {
  const Nanoseconds held = hold_(step_, step_end_);
  held_ = std::max(held_, held);
  // Waiting for the only operation of a step is waiting for the step.
  if (operation_ - step_begin_ == 1) {
    const Operation& only = program_.operations[step_begin_];
    if (only.on_host) {
      clock_.delay_host(held);
    } else {
      clock_.delay(only.stream, held);
    }
  }
  ++step_;
  step_begin_ = operation_;
  step_end_ = {};
}

}  // namespace

Nanoseconds held_time(const Program& program, const Steps& steps, const Hold& hold) {
  return HeldClock(program, steps, hold).run();
}

}  // namespace uvmsim::bounds
