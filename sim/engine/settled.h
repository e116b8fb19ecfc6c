// SPDX-License-Identifier: Apache-2.0
// When a run has settled: from which iteration on those that follow agree, one with the next, or a short period of them
// with the next period. This file is the only definition; results, tables and `--until-settled` all ask it.
//
// Two iterations agree if each of these differs by no more than its tolerance: the time (kTimeTolerance), and fault
// batches, faulting pages, bytes in, bytes out and evictions (kCountTolerance, or kCountFloor of them; pages and bytes
// are counted in 2 MB blocks). In a settled run any two iterations of the same place in the period agree, so that a
// slow drift does not pass for rest.
//
// Agreement is believed if at least kFewestAgreeing iterations and kFewestPeriods whole periods show it. Fewer will do
// where the state of the model recurred (recurrence.h): then all that follow are known. A learner that rests longer
// than that before it goes on learning is taken for settled: no finite run tells them apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sim/engine/simulation.h"

namespace uvmsim::engine {

inline constexpr std::uint64_t kTimeToleranceThousandths = 20;   // of the longer time
inline constexpr std::uint64_t kCountToleranceThousandths = 50;  // of the larger count
inline constexpr std::uint64_t kCountFloor = 16;                 // events, or 2 MB blocks
inline constexpr std::size_t kFewestAgreeing = 8;
inline constexpr std::size_t kFewestPeriods = 3;
inline constexpr std::size_t kLongestSettledPeriod = 8;

// Of the iterations given: those from `first` on agree, `period` after `period`; those before it were learning.
struct Settled {
  std::size_t first = 0, period = 1;
  bool exact = false;  // the state recurred: it is known, not only seen, that the following ones agree
};

// The earliest such iteration, and of several periods from it the shortest; none where the iterations given show no
// rest. `recurring` counts from the same first iteration.
std::optional<Settled> find_settled(std::span<const IterationResult> iterations,
                                    const std::optional<RecurringIterations>& recurring);

// Of a run, counted over all its iterations. Where one iteration was repeated its passes are judged, as the others are
// work of another kind; else all are.
std::optional<Settled> find_settled(const RunResult& result);

}  // namespace uvmsim::engine
