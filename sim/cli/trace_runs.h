// SPDX-License-Identifier: Apache-2.0
// Points of one trace, computed at the same time, with progress: common to `uvmsim run` and `uvmsim bounds`.
#pragma once

#include <string>
#include <vector>

#include "sim/cli/progress.h"
#include "sim/cli/run_options.h"
#include "sim/report/run_record.h"
#include "sim/sweep/resolve.h"
#include "sim/sweep/run_length.h"
#include "sim/sweep/run_point.h"

namespace uvmsim::cli {

class TraceRuns {
 public:
  // Opens the trace. `run` must outlive it.
  explicit TraceRuns(const RunArguments& run);

  // Checks names before reading the trace, and oversubscription factors before the first of several runs.
  void measure();

  sweep::Resolver& resolver() { return resolver_; }
  sweep::ResolvedPoint resolve(const sweep::Point& point) { return resolver_.resolve(point); }
  sweep::Point fitting_baseline(const sweep::Point& point) { return sweep::fitting_baseline(point, resolver_); }
  void fix_length(sweep::Point& point) { sweep::fix_length(point, trace_); }
  // sweep::run_points or sweep::bound_points.
  using Computation = std::vector<report::RunRecord>(const std::vector<sweep::PointToRun>&, sweep::TraceInput&,
                                                     std::size_t, const sweep::ReadProgress&);
  std::vector<report::RunRecord> compute(Computation& how, const std::string& step,
                                         const std::vector<sweep::PointToRun>& points);

  // Returns the points that run beside a given one to find the fastest policies (--best-of): copies of it, one per pair
  // of policies. `all` includes policies of plug-ins, with default parameters.
  std::vector<sweep::Point> rivals_of(const sweep::Point& point) const;

 private:
  const RunArguments& run_;
  sweep::Resolver resolver_;
  sweep::TraceInput& trace_;
  Progress progress_;
};

// Replaces the best known run by this one if it is faster.
void note_known(report::RunBounds& bounds, const report::RunRecord& run);

}  // namespace uvmsim::cli
