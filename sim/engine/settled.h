// SPDX-License-Identifier: Apache-2.0
// Finds the iteration from which a run has settled: from then on the iterations agree, each with the next, or each
// short period of them with the next period. Results, tables and `--until-settled` all use this definition.
//
// Two iterations agree if each of these differs by no more than its tolerance: the time (kTimeToleranceThousandths),
// and fault batches, faulting pages, bytes in, bytes out and evictions (kCountToleranceThousandths, or kCountFloor of
// them; pages and bytes are counted in 2 MB blocks). In a settled run any two iterations at the same place in the
// period agree. A run that drifts slowly has therefore not settled.
//
// At least kFewestAgreeing iterations and kFewestPeriods whole periods must agree. Fewer are enough if the state of the
// model recurred (recurrence.h), as all later iterations are known then. A policy that is stable for longer and then
// learns on is misjudged: no finite run shows the difference.
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

// The iterations from `first` on agree, one `period` with the next; those before `first` were learning.
struct Settled {
  std::size_t first = 0, period = 1;
  bool exact = false;  // the state recurred, so that later iterations are known to agree
};

// Returns the earliest such iteration with its shortest period; none if the run has not settled. `recurring` counts
// from the same first iteration.
std::optional<Settled> find_settled(std::span<const IterationResult> iterations,
                                    const std::optional<RecurringIterations>& recurring);

// Returns the same for a run, counted over all its iterations. If one iteration was repeated, only its passes are
// judged, as the others do other work.
std::optional<Settled> find_settled(const RunResult& result);

}  // namespace uvmsim::engine
