// SPDX-License-Identifier: Apache-2.0
// A value for every number, stored as runs of equal values: memory grows with the runs, not with their lengths.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace uvmsim {

// Value{} is the initial value of every number.
template <class Value>
class RangeMap {
 public:
  void assign(std::uint64_t first, std::uint64_t end, Value value) {
    if (first >= end) return;
    auto at = split(first);
    const auto stop = split(end);
    at = runs_.erase(at, stop);
    if (value == Value{}) return;
    at = runs_.emplace_hint(at, first, Run{end, value});
    if (const auto next = std::next(at); next != runs_.end() && next->first == end && next->second.value == value) {
      at->second.end = next->second.end;
      runs_.erase(next);
    }
    if (at == runs_.begin()) return;
    if (const auto previous = std::prev(at); previous->second.end == first && previous->second.value == value) {
      previous->second.end = at->second.end;
      runs_.erase(at);
    }
  }

  Value value(std::uint64_t number) const {
    const auto next = runs_.upper_bound(number);
    if (next == runs_.begin()) return Value{};
    const Run& run = std::prev(next)->second;
    return number < run.end ? run.value : Value{};
  }

  // Calls f(first, end, value) for the runs in [first, end), ascending, including those of Value{}. f must not change
  // the map.
  template <class F>
  void for_each(std::uint64_t first, std::uint64_t end, F&& f) const {
    auto run = runs_.upper_bound(first);
    if (run != runs_.begin() && std::prev(run)->second.end > first) --run;
    for (; first < end && run != runs_.end() && run->first < end; ++run) {
      if (first < run->first) f(first, run->first, Value{});
      const std::uint64_t stop = std::min(end, run->second.end);
      f(std::max(first, run->first), stop, run->second.value);
      first = stop;
    }
    if (first < end) f(first, end, Value{});
  }

  // Calls f(first, end, value) for all runs but those of Value{}.
  template <class F>
  void for_each(F&& f) const {
    for (const auto& [first, run] : runs_) f(first, run.end, run.value);
  }

 private:
  struct Run {
    std::uint64_t end;
    Value value;
  };

  // Makes `number` a border. Returns the first run at or after it.
  typename std::map<std::uint64_t, Run>::iterator split(std::uint64_t number) {
    auto next = runs_.lower_bound(number);
    if (next == runs_.begin()) return next;
    const auto run = std::prev(next);
    if (run->second.end <= number) return next;
    const Run rest{run->second.end, run->second.value};
    run->second.end = number;
    return runs_.emplace_hint(next, number, rest);
  }

  std::map<std::uint64_t, Run> runs_;  // by first number; neighbours are not adjacent or have different values
};

}  // namespace uvmsim
