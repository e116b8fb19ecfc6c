// SPDX-License-Identifier: Apache-2.0
// Several points of one trace in one process, on several cores.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/sweep/run_point.h"

namespace uvmsim::sweep {

struct PointToRun {
  ResolvedPoint point;
  EventSink* events = nullptr;
};

// The records in the order of the points; the same as one after the other. `progress` is called by one thread at a
// time, with the records that all of them have read together; when it throws, all stop. Of points that fail, the first
// one's error is thrown. With plug-ins, which may keep state of their own, the points run one after the other.
std::vector<report::RunRecord> run_points(const std::vector<PointToRun>& points, TraceInput& input, std::size_t threads,
                                          const ReadProgress& progress = {});

// The same with bound_point() instead of run_point().
std::vector<report::RunRecord> bound_points(const std::vector<PointToRun>& points, TraceInput& input,
                                            std::size_t threads, const ReadProgress& progress = {});

}  // namespace uvmsim::sweep
