// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/iterations.h"

#include "sim/common/check.h"

namespace uvmsim::engine {

// Returns the result of the iteration in progress, which ends at `now`.
IterationResult Iterations::result_of(const MarkOperation& end, Nanoseconds now) const {
  IterationResult iteration;
  iteration.index = end.index + left_out_.iterations;
  iteration.begin = begin_ - process_.start + left_out_.time;
  iteration.end = now - process_.start + left_out_.time;
  iteration.ideal = end.ideal - ideal_begin_;
  iteration.counters = difference(process_.result.counters, counted_before_);
  return iteration;
}

void Iterations::mark(const MarkOperation& mark, Nanoseconds now) {
  EventSink* const events = process_.observer.events;
  switch (mark.kind) {
    case trace::RangeKind::kPush:
      open_ranges_.emplace_back(mark.name, now);
      break;
    case trace::RangeKind::kPop:
      if (open_ranges_.empty()) break;
      if (events != nullptr) events->on(RangeEvent{open_ranges_.back().first, open_ranges_.back().second, now});
      open_ranges_.pop_back();
      break;
    case trace::RangeKind::kIterationBegin:
      begin_ = now;
      ideal_begin_ = mark.ideal;
      counted_before_ = process_.counters();
      accounts_.iteration(mark.index, true, now);
      break;
    case trace::RangeKind::kIterationEnd:
      if (events != nullptr) events->on(RangeEvent{fmt::format("iteration {}", mark.index), begin_, now});
      accounts_.iteration(mark.index, false, now);
      process_.result.iterations.push_back(result_of(mark, now));
      recurrence_.note_end(now, process_.counters());
      break;
  }
}

// The clock does not move; from now on its times are early by left_out_.time.
void Iterations::leave_out(const Recurrence::Earlier& found, std::uint64_t times, const MarkOperation* pending,
                           Nanoseconds now, Nanoseconds ideal) {
  const Moment& earlier = *found.moment;
  const std::uint64_t period = found.repetitions;
  std::vector<IterationResult>& results = process_.result.iterations;
  const std::size_t first = first_like_later_ones(earlier, pending);  // of the results to repeat
  std::uint64_t to_come = period * times;
  if (pending != nullptr) {
    // The pending end becomes that of the last repetition left out. The iteration to which it belonged ends as the one
    // before `earlier` did.
    UVMSIM_CHECK(earlier.end.has_value(), "iteration {} never ended", earlier.iterations);
    results.push_back(result_of(*pending, now + earlier.end->after));
    add(results.back().counters, earlier.end->counted, 1);
    --to_come;
  }
  const Nanoseconds duration = now - earlier.host_time;
  for (std::uint64_t i = 0; i < to_come; ++i) {
    const std::uint64_t later = i / period + 1;
    IterationResult iteration = results[first + i % period];
    iteration.index += later * period;
    iteration.begin += duration * static_cast<std::int64_t>(later);
    iteration.end += duration * static_cast<std::int64_t>(later);
    results.push_back(std::move(iteration));
  }
  const Counters counted = difference(process_.counters(), earlier.counters);
  check_counts(process_.counters(), counted, times);
  add(process_.counters(), counted, times);
  add(counted_before_, counted, times);
  left_out_.iterations += period * times;
  left_out_.time += duration * static_cast<std::int64_t>(times);
  left_out_.ideal_time += (ideal - earlier.ideal_time) * static_cast<std::int64_t>(times);
}

}  // namespace uvmsim::engine
