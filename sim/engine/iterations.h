// SPDX-License-Identifier: Apache-2.0
// The marked iterations of a process: when each began and ended, and what was counted meanwhile. Those that were left
// out (recurrence.h) count as if they had run.
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

  // A stream comes to a mark.
  void mark(const MarkOperation& mark, Nanoseconds now);

  // Moments at which repetitions began.
  Recurrence& recurrence() { return recurrence_; }
  // Of the results: the iteration from which on later ones repeat those since `earlier`. `pending`: the end of the
  // iteration before, which is still on its way; null: it has come.
  std::size_t first_like_later_ones(const Moment& earlier, const MarkOperation* pending) const {
    return earlier.iterations + (pending != nullptr ? 1 : 0);
  }
  // As if the repetitions since `earlier` had run `times` times more until `now`.
  void leave_out(const Recurrence::Earlier& earlier, std::uint64_t times, const MarkOperation* pending, Nanoseconds now,
                 Nanoseconds ideal);
  std::uint64_t left_out() const { return left_out_.iterations; }
  // The clock is early by so much, and so is the ideal one.
  Nanoseconds left_out_time() const { return left_out_.time; }
  Nanoseconds left_out_ideal_time() const { return left_out_.ideal_time; }

 private:
  IterationResult result_of(const MarkOperation& end, Nanoseconds now) const;

  Process& process_;
  Accounts& accounts_;
  std::vector<std::pair<std::string, Nanoseconds>> open_ranges_;
  Counters counted_before_;  // the iteration in progress
  Nanoseconds begin_{}, ideal_begin_{};
  Recurrence recurrence_;
  struct {
    std::uint64_t iterations = 0;
    Nanoseconds time{}, ideal_time{};
  } left_out_;
};

}  // namespace uvmsim::engine
