// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/time_slices.h"

#include <algorithm>

#include "sim/common/error.h"
#include "sim/engine/program.h"
#include "sim/policy/registry.h"

namespace uvmsim::engine {

namespace {

constexpr Nanoseconds kLongestTurn{1'000'000'000'000'000};  // 11 days

}  // namespace

TimeSlices::TimeSlices(unsigned gpu, std::vector<Program*> programs, const RunOptions& options, std::uint64_t seed,
                       const config::RuntimeCosts& costs, driver::GpuState& state, const link::Topology& topology,
                       EventQueue& events)
    : gpu_(gpu),
      programs_(std::move(programs)),
      slice_(static_cast<std::int64_t>(costs.time_slice_ns)),
      switch_(static_cast<std::int64_t>(costs.context_switch_ns)),
      state_(state),
      topology_(topology),
      events_(events),
      computed_(programs_.size()),
      asked_(programs_.size()) {
  const policy::PolicyEntry& entry = options.entry(policy::Slot::kSchedule);
  scheduler_ = entry.create<policy::Scheduler>(options.schedule.parameters, seed, state.memory.chunk_count());
  label_ = entry.label_with_origin();
  switch_ += entry.info.decision_cost;
  for (Program* program : programs_) program->streams().suspend(gpu_);
}

bool TimeSlices::wants(std::size_t program) const { return programs_[program]->streams().wants(gpu_); }

bool TimeSlices::others_want() const {
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    if (i != current_ && wants(i)) return true;
  }
  return false;
}

Nanoseconds TimeSlices::time_to_bring(std::uint64_t pages) const {
  return pages == 0 ? Nanoseconds{}
                    : topology_.engine(gpu_, link::Direction::kHostToDevice).unloaded_time(pages * kBasePageBytes);
}

void TimeSlices::see_processes() {
  const std::size_t count = programs_.size();
  const std::size_t first = current_ ? *current_ + 1 : 0;
  views_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t program = (first + i) % count;
    const std::uint32_t process = programs_[program]->process().number;
    const auto& pages = state_.process_pages[process];
    const Nanoseconds present = program == current_ && !switching_ ? now() - resumed_ : Nanoseconds{};
    views_.push_back({process, wants(program), computed_[program] + present, pages.resident, pages.most_resident});
  }
}

// Asks the policy about programs that began to wait. Returns whether one of them ends the turn.
bool TimeSlices::interrupted() {
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    const bool waits = i != current_ && wants(i);
    const bool is_new = waits && asked_[i] == 0;
    asked_[i] = waits ? 1 : 0;
    if (!is_new) continue;
    see_processes();
    if (scheduler_->interrupts(programs_[i]->process().number, programs_[*current_]->process().number, *this)) {
      return true;
    }
  }
  return false;
}

void TimeSlices::look() {
  if (switching_) return;
  if (!current_ || !wants(*current_)) {
    if (others_want()) choose_next();
  } else if (interrupted()) {
    choose_next();
  } else if (!due_ && others_want()) {
    wake_at(std::max(now(), begin_ + length_));
  }
}

void TimeSlices::on_event() {
  if (due_ != now()) return;
  due_.reset();
  if (switching_) {
    switching_ = false;
    begin_ = resumed_ = now();
    programs_[*current_]->streams().resume(gpu_);
  } else if (others_want()) {
    choose_next();
  }
}

void TimeSlices::choose_next() {
  see_processes();
  const policy::Turn turn = scheduler_->next(*this);
  const auto view = std::find_if(views_.begin(), views_.end(),
                                 [&](const policy::ProcessView& each) { return each.process == turn.process; });
  if (view == views_.end() || !view->waits) {
    throw ModelError(fmt::format("{} chose process {} for GPU {}, which {}", label_, turn.process, gpu_,
                                 view == views_.end() ? "does not use it" : "has nothing to compute"));
  }
  if (turn.length <= Nanoseconds{}) {
    throw ModelError(fmt::format("{} gave process {} a turn of {} ns; allowed: more than 0", label_, turn.process,
                                 turn.length.value));
  }
  length_ = std::min(turn.length, kLongestTurn);
  tell_evictor(turn.process);
  std::fill(asked_.begin(), asked_.end(), 0);
  turn_to(static_cast<std::size_t>(
      std::find_if(programs_.begin(), programs_.end(),
                   [&](const Program* program) { return program->process().number == turn.process; }) -
      programs_.begin()));
}

void TimeSlices::tell_evictor(std::uint32_t process) {
  turns_.assign(1, process);
  scheduler_->forecast(*this, turns_);
  for (const policy::ProcessView& view : views_) turns_.push_back(view.process);
  auto end = turns_.begin();
  for (const std::uint32_t turn : turns_) {
    const bool known =
        std::any_of(views_.begin(), views_.end(), [&](const auto& view) { return view.process == turn; });
    if (known && std::find(turns_.begin(), end, turn) == end) *end++ = turn;
  }
  turns_.erase(end, turns_.end());
  state_.evictor->on_turn(turns_);
}

// Gives the GPU to a program. The first one needs no switch, as the GPU is free; one that has the GPU keeps it.
void TimeSlices::turn_to(std::size_t program) {
  const bool first = !current_;
  if (program == current_) {
    begin_ = now();
    due_.reset();
    return;
  }
  if (!first) {
    tell_turn();
    programs_[*current_]->streams().suspend(gpu_);
    computed_[*current_] += now() - resumed_;
  }
  current_ = program;
  changed_ = now();
  if (first) {
    begin_ = resumed_ = now();
    programs_[program]->streams().resume(gpu_);
  } else {
    switching_ = true;
    wake_at(now() + switch_);
  }
}

void TimeSlices::finish() {
  if (current_ && !switching_) tell_turn();
}

void TimeSlices::tell_turn() const {
  EventSink* const events = programs_[*current_]->process().observer.events;
  if (events != nullptr) events->on(TurnEvent{static_cast<std::int32_t>(gpu_), changed_, resumed_, now()});
}

void TimeSlices::wake_at(Nanoseconds time) {
  due_ = time;
  events_.schedule(time, EventKind::kSlice, gpu_);
}

}  // namespace uvmsim::engine
