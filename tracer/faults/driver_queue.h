// SPDX-License-Identifier: Apache-2.0
// The UVM driver's own queue of events (/dev/nvidia-uvm-tools), which CUPTI also reads. Numbers and offsets are those
// of the open driver's headers (uvm_ioctl.h, uvm_types.h, 580). This code does not use CUDA, but the process must have
// used CUDA: the queue belongs to its /dev/nvidia-uvm file.
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

  // Opens the queue. Returns an error in one line, or an empty text. A process that has not used CUDA yet may try again
  // later if worth_another_try().
  std::string start(Events events);
  bool worth_another_try() const { return try_again_; }

  // Appends the events that the driver has written since the last call. Makes no system call.
  void drain(DriverEvents& events) { ring_.drain(events); }
  // Makes the driver write the events that it delays: migrations, until their copies are done.
  void flush();
  // Waits some milliseconds until the driver has written all events, then drains.
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
