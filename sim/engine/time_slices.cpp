#include "sim/engine/time_slices.h"

#include <algorithm>

#include "sim/engine/program.h"

namespace uvmsim::engine {

TimeSlices::TimeSlices(unsigned gpu, std::vector<Program*> programs, const config::RuntimeCosts& costs,
                       EventQueue& events)
    : gpu_(gpu),
      programs_(std::move(programs)),
      slice_(static_cast<std::int64_t>(costs.time_slice_ns)),
      switch_(static_cast<std::int64_t>(costs.context_switch_ns)),
      events_(events) {
  for (Program* program : programs_) {
    program->suspend(gpu_);
    same_priority_ = same_priority_ && program->priority() == programs_.front()->priority();
  }
}

bool TimeSlices::wants(std::size_t program) const { return programs_[program]->wants(gpu_); }

std::uint32_t TimeSlices::priority(std::size_t program) const { return programs_[program]->priority(); }

// Of those that have something to compute, but for the current one: the most important, of these the first in turn.
std::optional<std::size_t> TimeSlices::next_in_turn() const {
  const std::size_t count = programs_.size();
  const std::size_t first = current_ ? *current_ + 1 : 0;
  std::optional<std::size_t> next;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t program = (first + i) % count;
    if (program == current_ || (next && priority(program) <= priority(*next)) || !wants(program)) continue;
    next = program;
  }
  return next;
}

void TimeSlices::look() {
  if (switching_) return;
  const bool busy = current_ && wants(*current_);
  if (busy && due_ && same_priority_) return;
  const std::optional<std::size_t> next = next_in_turn();
  if (!next) return;
  if (!busy || priority(*next) > priority(*current_)) return turn_to(*next);
  if (due_ || priority(*next) < priority(*current_)) return;
  wake_at(std::max(events_.now(), begin_ + slice_));
}

void TimeSlices::on_event() {
  if (due_ != events_.now()) return;
  due_.reset();
  if (switching_) {
    switching_ = false;
    begin_ = events_.now();
    programs_[*current_]->resume(gpu_);
  } else if (const std::optional<std::size_t> next = next_in_turn()) {
    if (!wants(*current_) || priority(*next) >= priority(*current_)) turn_to(*next);
  }
}

// The first process finds the GPU free, and with it nothing to switch from.
void TimeSlices::turn_to(std::size_t program) {
  const bool first = !current_;
  if (!first) programs_[*current_]->suspend(gpu_);
  current_ = program;
  if (first) {
    begin_ = events_.now();
    programs_[program]->resume(gpu_);
  } else {
    switching_ = true;
    wake_at(events_.now() + switch_);
  }
}

void TimeSlices::wake_at(Nanoseconds time) {
  due_ = time;
  events_.schedule(time, EventKind::kSlice, gpu_);
}

}  // namespace uvmsim::engine
