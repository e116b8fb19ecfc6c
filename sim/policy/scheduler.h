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
  bool waits = false;                     // it has something to compute (a kernel that waits for faults has)
  Nanoseconds computed{};                 // how long it had the GPU so far
  std::uint64_t resident_pages = 0;       // of 4 KB in the GPU's memory
  std::uint64_t most_resident_pages = 0;  // the most that it ever had there
};

class ScheduleQueries {
 public:
  virtual Nanoseconds now() const = 0;
  // The driver's own.
  virtual Nanoseconds time_slice() const = 0;
  // All processes of the GPU in the order of turns: from the one after that which computed last; that one is last.
  virtual std::span<const ProcessView> processes() const = 0;
  // Memory of the GPU for managed data, in pages of 4 KB.
  virtual std::uint64_t memory_pages() const = 0;
  // How long so many pages take from the host to the GPU while nobody else uses the link.
  virtual Nanoseconds time_to_bring(std::uint64_t pages) const = 0;

 protected:
  ~ScheduleQueries() = default;
};

struct Turn {
  std::uint32_t process = 0;
  Nanoseconds length{};  // how long others wait at most; more than 0
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  // Somebody waits, and the GPU is free or the turn of the one that computes is over. The answer is a process that
  // waits; the one that computes may have another turn.
  virtual Turn next(const ScheduleQueries& queries) = 0;

  // A process began to wait while another one computes. True: its turn is over now, and next() is asked.
  virtual bool interrupts([[maybe_unused]] std::uint32_t waiting, [[maybe_unused]] std::uint32_t computing,
                          [[maybe_unused]] const ScheduleQueries& queries) {
    return false;
  }

  // Called after next(): appends the processes whose turns are to come after this one, the soonest first. Evictors are
  // told (Evictor::on_turn). Whoever is left out comes last.
  virtual void forecast(const ScheduleQueries& queries, std::vector<std::uint32_t>& processes) {
    for (const ProcessView& view : queries.processes()) processes.push_back(view.process);
  }
};

}  // namespace uvmsim::policy
