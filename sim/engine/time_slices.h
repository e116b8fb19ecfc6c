// SPDX-License-Identifier: Apache-2.0
// The turns of the processes that share a GPU.
//
// The GPU computes for one process at a time; the schedule policy says for which, and for how long while others wait. A
// switch between two processes takes context_switch_ns, in which it computes for none. A process whose turn is over
// gives the GPU up as soon as another one comes; one that has nothing to compute gives it up at once. A process whose
// kernels wait for faults has something to compute and keeps the GPU. Measured under the GPU's own round robin:
// tracer/ground_truth/two_processes.cu.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/system.h"
#include "sim/driver/context.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/simulation.h"
#include "sim/policy/scheduler.h"

namespace uvmsim::engine {

class Program;

class TimeSlices final : private policy::ScheduleQueries {
 public:
  // `programs` come in order of their turns; all of them wait until look(). They and the other references must outlive
  // the object. Throws InputError for the policy.
  TimeSlices(unsigned gpu, std::vector<Program*> programs, const RunOptions& options, std::uint64_t seed,
             const config::RuntimeCosts& costs, driver::GpuState& state, const link::Topology& topology,
             EventQueue& events);

  // Call after every event of the machine: programs may have something to compute, or nothing any more.
  void look();
  // Handles EventKind::kSlice.
  void on_event();
  // Call after the last event: reports the turn in progress.
  void finish();

 private:
  Nanoseconds now() const override { return events_.now(); }
  Nanoseconds time_slice() const override { return slice_; }
  std::span<const policy::ProcessView> processes() const override { return views_; }
  std::uint64_t memory_pages() const override { return std::uint64_t{state_.memory.chunk_count()} * kPagesPerBlock; }
  Nanoseconds time_to_bring(std::uint64_t pages) const override;

  bool wants(std::size_t program) const;
  bool others_want() const;
  bool interrupted();
  void see_processes();
  void choose_next();
  void tell_evictor(std::uint32_t process);
  void turn_to(std::size_t program);
  void tell_turn() const;
  void wake_at(Nanoseconds time);

  const unsigned gpu_;
  const std::vector<Program*> programs_;
  const Nanoseconds slice_;
  Nanoseconds switch_;
  driver::GpuState& state_;
  const link::Topology& topology_;
  EventQueue& events_;
  std::shared_ptr<policy::Scheduler> scheduler_;
  std::string label_;                       // of the policy, for messages
  std::vector<policy::ProcessView> views_;  // what the policy sees
  std::vector<std::uint32_t> turns_;        // what evictors are told
  std::vector<Nanoseconds> computed_;       // by program, without the present turn
  std::vector<char> asked_;                 // by program: it waits, and the policy was asked in this turn
  std::optional<std::size_t> current_;      // index of the program on the GPU, or being switched to
  bool switching_ = false;
  Nanoseconds changed_{};           // when the GPU began to change to the current one
  Nanoseconds resumed_{};           // when the current one began to compute
  Nanoseconds begin_{};             // of the present turn
  Nanoseconds length_{};            // of the present turn
  std::optional<Nanoseconds> due_;  // the event that counts; others are of turns that ended early
};

}  // namespace uvmsim::engine
