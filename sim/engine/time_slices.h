// Whose turn it is on a GPU that several processes share.
//
// The GPU computes for one process at a time. While others wait it goes round them: each computes for a slice, then for
// context_switch_ns the GPU computes nothing. A process that had the GPU for a slice or longer gives it up as soon
// as another one comes; one that has nothing to compute gives it up at once. A process whose kernels wait for faults
// has something to compute and keeps the GPU. While a process of a higher priority has something to compute, the GPU is
// its. Measured, but for priorities: tracer/ground_truth/two_processes.cu.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/config/system.h"
#include "sim/engine/event_queue.h"

namespace uvmsim::engine {

class Program;

class TimeSlices {
 public:
  // The programs, in order of their turns, must outlive it; all of them wait until look().
  TimeSlices(unsigned gpu, std::vector<Program*> programs, const config::RuntimeCosts& costs, EventQueue& events);

  // After every event of the machine: programs may have something to compute, or nothing any more.
  void look();
  // EventKind::kSlice.
  void on_event();

 private:
  bool wants(std::size_t program) const;
  std::uint32_t priority(std::size_t program) const;
  std::optional<std::size_t> next_in_turn() const;
  void wake_at(Nanoseconds time);
  void turn_to(std::size_t program);

  const unsigned gpu_;
  const std::vector<Program*> programs_;
  const Nanoseconds slice_, switch_;
  EventQueue& events_;
  std::optional<std::size_t> current_;  // whose context is on the GPU, or comes to it
  bool same_priority_ = true;
  bool switching_ = false;
  Nanoseconds begin_{};             // of the present turn
  std::optional<Nanoseconds> due_;  // the event that counts; others are of turns that ended early
};

}  // namespace uvmsim::engine
