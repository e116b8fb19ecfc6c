// SPDX-License-Identifier: Apache-2.0
// The UVM driver's own queue of events (/dev/nvidia-uvm-tools), which CUPTI reads, too. Numbers and offsets are those
// of the open driver's headers (uvm_ioctl.h, uvm_types.h, 580). No CUDA here, but the process must have used CUDA: the
// queue belongs to its /dev/nvidia-uvm file.
#pragma once

#include <cstdint>
#include <string>

#include "tracer/faults/driver_events.h"
#include "tracer/faults/event_ring.h"

namespace uvmtrace::faults {

class DriverQueue {
 public:
  // The events that the driver writes into the queue.
  enum class Events : std::uint8_t { kFaults, kFaultsAndMigrations };

  DriverQueue() = default;
  ~DriverQueue();
  DriverQueue(const DriverQueue&) = delete;
  DriverQueue& operator=(const DriverQueue&) = delete;

  // Returns why it does not work in one line, or an empty text. A process that has not used CUDA yet may ask again
  // later if worth_another_try().
  std::string start(Events events);
  bool worth_another_try() const { return try_again_; }

  // Appends the events since the last call, as far as the driver has written them. Costs no system call.
  void drain(DriverEvents& events) { ring_.drain(events); }
  // Lets the driver write the events that it puts off: migrations, until their copies are done.
  void flush();
  // Drains after it has waited until the driver has written all: some milliseconds.
  void finish(DriverEvents& events);
  // Returns how many events the driver has dropped since the last call because the queue was full.
  std::uint64_t take_dropped() { return ring_.take_dropped(); }

 private:
  int tools_ = -1, uvm_ = -1;
  bool try_again_ = false;
  std::uint8_t* entries_ = nullptr;
  RingControl* control_ = nullptr;
  EventRing ring_;
};

}  // namespace uvmtrace::faults
