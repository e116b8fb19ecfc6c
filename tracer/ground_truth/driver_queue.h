// SPDX-License-Identifier: Apache-2.0
// The UVM driver's own queue of events (/dev/nvidia-uvm-tools), which CUPTI reads, too: here to count them, and to see
// what it costs that they are written. Numbers and offsets are those of the open driver's headers (uvm_ioctl.h,
// uvm_types.h, 580). No CUDA here, but the process must have a CUDA context.
#pragma once

#include <cstdint>
#include <string>

namespace uvmtrace::ground_truth {

class DriverQueue {
 public:
  // The events that the driver writes into the queue.
  enum class Events : std::uint8_t { kFaults, kFaultsAndMigrations };
  struct Counts {
    std::uint64_t raw_faults = 0, replays = 0, migrations = 0, dropped = 0;
  };

  DriverQueue() = default;
  ~DriverQueue();
  DriverQueue(const DriverQueue&) = delete;
  DriverQueue& operator=(const DriverQueue&) = delete;

  // Returns why it does not work in one line, or an empty text.
  std::string start(Events events);
  // Returns the events since the last call. Waits until no more arrive.
  Counts take();

 private:
  struct Control;
  void flush();

  int tools_ = -1, uvm_ = -1;
  std::uint8_t* entries_ = nullptr;
  Control* control_ = nullptr;
};

}  // namespace uvmtrace::ground_truth
