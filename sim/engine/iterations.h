// SPDX-License-Identifier: Apache-2.0
// The marked iterations of a process: the begin, end and counters of each. Iterations that were left out (recurrence.h)
// count as if they had run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/engine/accounts.h"
#include "sim/engine/operation.h"
#include "sim/engine/process.h"
#include "sim/engine/recurrence.h"

namespace uvmsim::engine {

class Iterations {
 public:
  Iterations(Process& process, Accounts& accounts) : process_(process), accounts_(accounts) {}

  // Call when a stream reaches a mark.
  void mark(const MarkOperation& mark, Nanoseconds now);

  // The moments at which repetitions began.
  Recurrence& recurrence() { return recurrence_; }
  // Returns the index of the first result that later iterations repeat, if the state recurs since `earlier`. `pending`:
  // the end mark of the previous iteration if no stream has reached it yet, else null.
  std::size_t first_like_later_ones(const Moment& earlier, const MarkOperation* pending) const {
    return earlier.iterations + (pending != nullptr ? 1 : 0);
  }
  // Adds results and counts as if the repetitions since `earlier` had run `times` more times; `now` and `ideal` are the
  // present times.
  void leave_out(const Recurrence::Earlier& earlier, std::uint64_t times, const MarkOperation* pending, Nanoseconds now,
                 Nanoseconds ideal);
  std::uint64_t left_out() const { return left_out_.iterations; }
  // The time that was left out, by which the clock and the ideal clock are early.
  Nanoseconds left_out_time() const { return left_out_.time; }
  Nanoseconds left_out_ideal_time() const { return left_out_.ideal_time; }

 private:
  IterationResult result_of(const MarkOperation& end, Nanoseconds now) const;

  Process& process_;
  Accounts& accounts_;
  std::vector<std::pair<std::string, Nanoseconds>> open_ranges_;
  Counters counted_before_;  // when the iteration in progress began
  Nanoseconds begin_{}, ideal_begin_{};
  Recurrence recurrence_;
  struct {
    std::uint64_t iterations = 0;
    Nanoseconds time{}, ideal_time{};
  } left_out_;
};

}  // namespace uvmsim::engine
