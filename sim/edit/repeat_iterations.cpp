// SPDX-License-Identifier: Apache-2.0
#include "sim/edit/repeat_iterations.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "sim/common/error.h"
#include "sim/trace/limits.h"

namespace uvmsim::trace {
namespace {

const Range* mark(const Record& record, RangeKind kind) {
  const auto* range = std::get_if<Range>(&record);
  return range != nullptr && range->kind == kind ? range : nullptr;
}

std::int64_t time_of(const std::vector<Record>& records) {
  std::int64_t total = 0;
  for (const Record& record : records) {
    std::visit(
        [&](const auto& r) {
          if constexpr (requires { r.duration_ns; }) total += r.duration_ns;
          if constexpr (requires { r.host_gap_ns; }) total += r.host_gap_ns;
        },
        record);
  }
  return total;
}

// Returns whether the record comes after the last operation and is, or follows, a free that only ends the program.
bool is_behind_program(const std::vector<Record>& records, std::size_t at, const IterationPlan& plan) {
  if (plan.freed_at_the_end.empty()) return false;
  const auto is_operation = [](const Record& record) {
    return std::visit(
        [](const auto& r) {
          return requires { r.host_gap_ns; }
          &&!std::is_same_v<std::decay_t<decltype(r)>, Sync>;
        },
        record);
  };
  if (is_operation(records[at])) return false;
  while (at-- > 0 && !is_operation(records[at])) {
    const auto freed = freed_by(records[at]);
    if (freed && plan.freed_at_the_end.contains(*freed)) return true;
  }
  return false;
}

void drop_host_time(Record& record) {
  std::visit(
      [](auto& r) {
        if constexpr (requires { r.host_gap_ns; }) r.host_gap_ns = 0;
      },
      record);
}

void shift_mark(Record& record, std::uint64_t by) {
  if (auto* range = std::get_if<Range>(&record)) {
    if (range->kind == RangeKind::kIterationBegin || range->kind == RangeKind::kIterationEnd) range->index += by;
  }
}

}  // namespace

bool IterationRepeater::next(Record& record) {
  begins_repetition_ = false;
  if (wanted_ == 0) {
    ++number_;
    return source_(record);
  }
  while (ready_.empty() && !source_done_) {
    if (!read()) end_of_source();
  }
  if (give(ready_, record)) return true;
  if (repeated_ && next_of_pass(record)) return true;
  if (!give(rest_, record)) return false;
  if (ends_without_last_pass_) rename(record);
  shift_mark(record, repetitions_);
  return true;
}

bool IterationRepeater::give(std::deque<Numbered>& from, Record& record) {
  if (from.empty()) return false;
  number_ = from.front().number;
  record = std::move(from.front().record);
  from.pop_front();
  return true;
}

void IterationRepeater::append(std::deque<Numbered>& to, std::vector<Record>&& records, std::uint64_t first_record) {
  for (Record& record : records) to.push_back({first_record++, std::move(record)});
}

IterationRepeater::Passes IterationRepeater::passes() const {
  if (!repeated_) {
    const std::uint64_t done = std::min(recorded_, wanted_);
    return done == 0 ? Passes{} : Passes{done - 1, 1};
  }
  return {repeated_->number, repetitions_ + (plan_.freed_at_the_end.empty() ? 1 : 0)};
}

// Reads one record of the source into `ready_` or into the iteration that is kept for repetition.
bool IterationRepeater::read() {
  Record record;
  if (!source_(record)) return false;
  ++records_read_;
  if (auto allocation = allocated_by(record)) {
    largest_id_ = std::max(largest_id_, allocation->id);
    allocation->order = allocations_++;
    live_[allocation->id] = *allocation;
  } else if (const auto freed = freed_by(record)) {
    if (const auto found = live_.find(*freed); found != live_.end()) {
      open_.freed_from_before.push_back(found->second);  // close_unit() drops what the iteration allocated itself
      live_.erase(found);
    }
  }

  if (mark(record, RangeKind::kIterationBegin) != nullptr) {
    if (in_iteration_) throw_input_error("iteration {} begins within another", recorded_);
    in_iteration_ = true;
    if (recorded_ == 0) open_.freed_from_before.clear();
  }
  if (recorded_ == 0 && !in_iteration_) {
    ready_.push_back({records_read_, std::move(record)});
    return true;
  }
  if (open_.records.empty()) open_first_ = records_read_;
  const bool ends = mark(record, RangeKind::kIterationEnd) != nullptr;
  open_.records.push_back(std::move(record));
  if (ends && in_iteration_) close_unit();
  return true;
}

void IterationRepeater::close_unit() {
  in_iteration_ = false;
  Unit unit{recorded_++, open_first_, std::move(open_)};
  open_ = {};
  std::unordered_set<ObjectId> own;
  for (const Record& record : unit.content.records) {
    if (const auto allocation = allocated_by(record)) own.insert(allocation->id);
  }
  if (recorded_ > wanted_) {
    left_out_.merge(own);
    return;
  }
  std::erase_if(unit.content.freed_from_before, [&](const Allocation& a) { return own.contains(a.id); });
  held_.push_back(std::move(unit));
  if (recorded_ == wanted_) {
    while (!held_.empty()) release_held();
  } else if (held_.size() > 2 || (held_.size() == 2 && held_.front().number == 0)) {
    release_held();  // iteration 0 is only repeated where it is the only one
  }
}

void IterationRepeater::release_held() {
  append(ready_, std::move(held_.front().content.records), held_.front().first_record);
  held_.pop_front();
}

void IterationRepeater::end_of_source() {
  source_done_ = true;
  if (in_iteration_) throw_input_error("the trace ends within iteration {}, which cannot be repeated", recorded_);
  if (recorded_ == 0) throw_input_error("the trace marks no iterations, so that none can be repeated");
  if (recorded_ >= wanted_) {
    keep_without_left_out();
  } else {
    choose();
  }
}

// Passes on the rest of the program after fewer iterations than it recorded, unless it uses memory of the omitted
// iterations.
void IterationRepeater::keep_without_left_out() {
  std::uint64_t number = open_first_;
  for (Record& record : open_.records) {
    const std::uint64_t this_number = number++;
    const auto freed = freed_by(record);
    if (freed && left_out_.contains(*freed)) continue;
    for_each_id(record, [&](ObjectId id) {
      if (!left_out_.contains(id)) return;
      throw_input_error(
          "after its {} iterations the program uses object {}, which it allocated in one that was to be left out after "
          "the first {}",
          recorded_, id, wanted_);
    });
    ready_.push_back({this_number, std::move(record)});
  }
}

void IterationRepeater::choose() {
  struct Candidate {
    std::size_t held;
    bool ends_program;
  };
  const std::size_t last = held_.size() - 1;
  std::vector<Candidate> candidates;
  if (last != 0 && held_[last - 1].number != 0) candidates.push_back({last - 1, false});
  candidates.push_back({last, false});
  candidates.push_back({last, true});
  std::size_t chosen = 0;
  for (const auto& [held, ends_program] : candidates) {
    chosen = held;
    plan_ = plan_repetition(held_[held].content, ends_program);
    if (plan_.obstacle.empty()) break;
  }
  if (!plan_.obstacle.empty()) {
    throw_input_error("iteration {} cannot be repeated: {}", held_[chosen].number, plan_.obstacle);
  }
  for (std::size_t i = 0; i < chosen; ++i) release_held();
  repeated_ = std::move(held_.front());
  held_.pop_front();
  for (Unit& unit : held_) append(rest_, std::move(unit.content.records), unit.first_record);
  append(rest_, std::move(open_.records), open_first_);
  held_.clear();
  open_ = {};

  repetitions_ = wanted_ - recorded_;
  const std::int64_t time = time_of(repeated_->content.records);
  const std::uint64_t most_in_time = static_cast<std::uint64_t>(kMaxTimeNs / std::max<std::int64_t>(time, 1));
  const std::uint64_t ids_left = std::numeric_limits<ObjectId>::max() - largest_id_;
  const std::uint64_t ids_of_each = plan_.renamed.size();
  if (wanted_ == kEndless) {
    repetitions_ = std::min(most_in_time, ids_left / (ids_of_each + 1));
  } else if (time > 0 && repetitions_ > most_in_time) {
    throw_input_error("{} iterations of {} ns are too long; allowed: {} ns in all", wanted_, time, kMaxTimeNs);
  } else if (ids_of_each * repetitions_ >= ids_left) {
    throw_input_error("{} iterations need more ids than there are above {}", wanted_, largest_id_);
  }
  next_id_ = largest_id_ + 1;
  pass_begins_ = true;
  find_next_of_pass();
}

// Returns whether the current pass omits the record.
bool IterationRepeater::is_omitted(const Record& record) const {
  if (const auto* opened = std::get_if<ObjectAlloc>(&record)) {
    return pass_ != 0 && plan_.opened_once.contains(opened->id);
  }
  if (pass_ == repetitions_) return false;
  const auto freed = freed_by(record);
  return freed && plan_.freed_at_the_end.contains(*freed);
}

// Finds the next record from `at_` on, in this pass or at the beginning of the next one.
void IterationRepeater::find_next_of_pass() {
  const std::vector<Record>& records = repeated_->content.records;
  while (pass_ <= repetitions_) {
    while (at_ < records.size() && is_omitted(records[at_])) ++at_;
    if (at_ < records.size()) return;
    at_ = 0;
    ++pass_;
    pass_begins_ = true;
  }
}

void IterationRepeater::leave_out(std::uint64_t repetitions) {
  ends_without_last_pass_ = pass_ + repetitions > repetitions_;
  repetitions_ -= repetitions;
  at_ = 0;  // the next pass may be the last one by now
  find_next_of_pass();
}

void IterationRepeater::name_pass() {
  std::unordered_map<ObjectId, ObjectId> names;
  for (const auto& [old, fresh] : plan_.kept) {
    if (pass_ != 0) names[old] = names_.at(fresh);
  }
  // The last pass is the recorded one and keeps its ids.
  for (const ObjectId id : plan_.renamed) names[id] = pass_ == repetitions_ ? id : next_id_++;
  names_ = std::move(names);
}

void IterationRepeater::rename(Record& record) const {
  for_each_id(record, [&](ObjectId& id) {
    if (const auto found = names_.find(id); found != names_.end()) id = found->second;
  });
}

bool IterationRepeater::next_of_pass(Record& record) {
  if (pass_ > repetitions_) return false;
  if (pass_begins_) name_pass();
  Record& next = repeated_->content.records[at_];
  if (pass_ == repetitions_) {
    record = std::move(next);
  } else {
    record = next;
  }
  if (pass_ != repetitions_ && is_behind_program(repeated_->content.records, at_, plan_)) drop_host_time(record);
  number_ = repeated_->first_record + at_++;
  begins_repetition_ = pass_begins_ && pass_ != 0;
  pass_begins_ = false;
  rename(record);
  shift_mark(record, pass_);
  find_next_of_pass();
  return true;
}

}  // namespace uvmsim::trace
