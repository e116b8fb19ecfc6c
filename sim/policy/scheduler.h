// SPDX-License-Identifier: Apache-2.0
// The slot `schedule`: which of the processes that share a GPU computes next, and for how long.
//
// One instance serves one GPU that several programs use in time slices. The core makes the turns
// (engine/time_slices.h): a process that has nothing to compute loses the GPU at once, one whose turn is over keeps it
// until another one waits, and every change costs the system's context switch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/common/units.h"

namespace uvmsim::policy {

// A process on the GPU, by its place among the programs of the server.
struct ProcessView {
  std::uint32_t process = 0;
  bool waits = false;                     // it has work (a kernel that waits for faults counts)
  Nanoseconds computed{};                 // total time that it had the GPU
  std::uint64_t resident_pages = 0;       // pages of 4 KB in the GPU's memory
  std::uint64_t most_resident_pages = 0;  // its maximum so far
};

class ScheduleQueries {
 public:
  virtual Nanoseconds now() const = 0;
  // The driver's time slice.
  virtual Nanoseconds time_slice() const = 0;
  // All processes of the GPU in the order of turns: the process that computed last comes last.
  virtual std::span<const ProcessView> processes() const = 0;
  // Returns the GPU's memory for managed data, in pages of 4 KB.
  virtual std::uint64_t memory_pages() const = 0;
  // The time that the pages take from the host to the GPU on an idle link.
  virtual Nanoseconds time_to_bring(std::uint64_t pages) const = 0;

 protected:
  ~ScheduleQueries() = default;
};

struct Turn {
  std::uint32_t process = 0;
  Nanoseconds length{};  // the longest time that others wait; more than 0
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  // Called when a process waits and the GPU is free or the current turn is over. Returns a waiting process, or the
  // computing one for another turn.
  virtual Turn next(const ScheduleQueries& queries) = 0;

  // Called when a process begins to wait while another one computes. If it returns true, the turn ends now and next()
  // is called.
  virtual bool interrupts([[maybe_unused]] std::uint32_t waiting, [[maybe_unused]] std::uint32_t computing,
                          [[maybe_unused]] const ScheduleQueries& queries) {
    return false;
  }

  // Called after next(): appends the processes in the expected order of their turns after this one. Evictors are told
  // (Evictor::on_turn). Processes that are left out come last.
  virtual void forecast(const ScheduleQueries& queries, std::vector<std::uint32_t>& processes) {
    for (const ProcessView& view : queries.processes()) processes.push_back(view.process);
  }
};

}  // namespace uvmsim::policy
