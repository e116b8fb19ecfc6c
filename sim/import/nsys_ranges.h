// SPDX-License-Identifier: Apache-2.0
// Ranges of NVTX as the ranges and iterations of a trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/import/nsys_report.h"
#include "sim/trace/record.h"

namespace uvmsim::trace {

struct TimedRange {
  std::int64_t time = 0;
  Range range;
};

struct RangesOfReport {
  std::vector<TimedRange> records;  // in order, fit for a trace
  std::string iteration;            // name of the ranges that became iterations, with # for their numbers; may be empty
  std::uint64_t iterations = 0;
};

// Those pushed and popped by the thread whose ranges hold the most launches; `launches`: their times, ascending. Ranges
// that are called `wanted` but for digits, or without such a wish those that hold most launches and at least half of
// them, come at least twice and do not overlap, are the iterations: the outermost of them. Throws InputError when none
// has that name.
RangesOfReport ranges_of_report(const std::vector<NsysReport::Range>& ranges, const std::vector<std::int64_t>& launches,
                                const std::string& wanted);

}  // namespace uvmsim::trace
