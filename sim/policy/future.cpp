// SPDX-License-Identifier: Apache-2.0
#include "sim/policy/future.h"

#include <algorithm>
#include <utility>

#include "sim/common/check.h"

namespace uvmsim::policy {

void Future::add_operation(std::uint64_t number) {
  if (!operations_.empty() && operations_.back().number == number) return;  // the operation began with a free
  UVMSIM_CHECK(operations_.empty() || operations_.back().number < number, "operation {} after {}", number,
               operations_.back().number);
  operations_.push_back({number, sequence_.size(), 0});
}

void Future::add_use(ContentIndex content) {
  UVMSIM_CHECK(!operations_.empty(), "a use before the first operation");
  if (sequence_.size() > operations_.back().begin && sequence_.back() == content) return;
  add_event(content, false);
  sequence_.push_back(content);
}

void Future::add_free(std::uint64_t number, const std::vector<ContentIndex>& contents) {
  if (contents.empty()) return;
  add_operation(number);
  for (const ContentIndex content : contents) add_event(content, true);
  sequence_.push_back(kNothing);
}

void Future::add_event(ContentIndex content, bool ends) {
  events_.push_back({sequence_.size() << 1 | std::uint64_t{ends}});
  owners_.push_back(content.value);
}

// Sorts the events by content; the events of one content keep their order.
void Future::finish() {
  for (const std::uint64_t owner : owners_) ++places_[owner].count;
  std::uint64_t sum = 0;
  places_.for_each([&](std::uint64_t, Place& place) {
    place.first = sum;
    sum += std::exchange(place.count, 0);
  });
  std::vector<Event> sorted(events_.size());
  for (std::size_t i = 0; i < events_.size(); ++i) {
    Place& place = places_[owners_[i]];
    sorted[static_cast<std::size_t>(place.first + place.count++)] = events_[i];
  }
  events_ = std::move(sorted);
  owners_ = {};
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    const Position stop = i + 1 < operations_.size() ? operations_[i + 1].begin : end();
    for (Position position = operations_[i].begin; position < stop; ++position) {
      const ContentIndex content = at(position);
      if (content == kNothing) continue;
      Place& place = places_[content.value];
      if (place.last == i + 1) continue;
      place.last = i + 1;
      ++operations_[i].contents;
    }
  }
}

std::span<const Future::Event> Future::events_of(ContentIndex content) const {
  const Place* const place = places_.find(content.value);
  if (place == nullptr) return {};
  return std::span(events_).subspan(static_cast<std::size_t>(place->first), static_cast<std::size_t>(place->count));
}

Future::Position Future::next_use(ContentIndex content, Position from) const {
  const std::span<const Event> events = events_of(content);
  const auto next = std::ranges::lower_bound(events, from, {}, &Event::position);
  return next == events.end() || next->ends() ? kNever : next->position();
}

// Returns null before the first one.
const Future::Operation* Future::operation_at(Position position) const {
  const auto next = std::ranges::upper_bound(operations_, position, {}, &Operation::begin);
  return next == operations_.begin() ? nullptr : &*std::prev(next);
}

Future::Position Future::operation_begin(Position position) const {
  const Operation* const operation = operation_at(position);
  return operation == nullptr ? 0 : operation->begin;
}

Future::Position Future::operation_end(Position position) const {
  const Operation* const operation = operation_at(position);
  if (operation == nullptr) return operations_.empty() ? end() : operations_.front().begin;
  return operation == &operations_.back() ? end() : (operation + 1)->begin;
}

std::uint64_t Future::operation_contents(Position position) const {
  const Operation* const operation = operation_at(position);
  return operation == nullptr ? 0 : operation->contents;
}

Future::Position Future::begin_from(std::uint64_t number) const {
  const auto next = std::ranges::lower_bound(operations_, number, {}, &Operation::number);
  return next == operations_.end() ? end() : next->begin;
}

void Future::enter(std::uint64_t number) {
  operation_begin_ = begin_from(number);
  operation_end_ = begin_from(number + 1);
  move_to(operation_begin_);
}

void Future::pass(std::uint64_t number) { move_to(begin_from(number + 1)); }

void Future::arrive(ContentIndex content) {
  const std::span<const Event> events = events_of(content);
  auto next = std::ranges::lower_bound(events, now_, {}, &Event::position);
  if (next != events.end() && next->ends()) ++next;
  if (next == events.end() || next->position() >= operation_end_) return;
  const bool was_used = next != events.begin() && std::prev(next)->position() >= operation_begin_;
  if (was_used && now_ - std::prev(next)->position() <= next->position() - now_) return;
  move_to(next->position());
}

}  // namespace uvmsim::policy
