// SPDX-License-Identifier: Apache-2.0
// The number of iterations that a run replays. By default a run lasts until it has settled (engine/settled.h), because
// earlier results depend on how long it ran.
#pragma once

#include <cstdint>
#include <string>

#include "sim/sweep/resolve.h"
#include "sim/sweep/trace_input.h"

namespace uvmsim::sweep {

// The maximum; a run that has not settled by then counts as not settled. DeepUM's planner, the slowest learner of the
// built-in policies, settles after 48.
inline constexpr std::uint64_t kMostIterations = 64;
// The number where the length must be known beforehand: for policies that know the future, bounds and leagues.
inline constexpr std::uint64_t kKnownIterations = 32;

struct RunLength {
  std::uint64_t iterations = 0;  // as in RunOptions: 0 is as many as were recorded
  bool until_settled = false;    // `iterations` is the maximum
  // The reason why only the recorded iterations run although more were requested; empty otherwise.
  std::string not_repeated;
};

// Determines the length of a point. A trace that marks no iterations, or none that can be repeated, runs as recorded;
// all recorded iterations run if there are more than the default. The first call reads the trace. Throws InputError as
// the trace's reader does.
RunLength run_length(const ResolvedPoint& resolved, TraceInput& input, const ReadProgress& progress = {});

// Sets the number of iterations of a point that leaves it open, for callers that need it beforehand.
void fix_length(Point& point, TraceInput& input);

// Estimates the maximum number of records that a run of that length replays.
std::uint64_t most_records(const RunLength& length, TraceInput& input);

}  // namespace uvmsim::sweep
