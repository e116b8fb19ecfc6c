// SPDX-License-Identifier: Apache-2.0
// Turns ranges of NVTX into the ranges and iterations of a trace.
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
  std::vector<TimedRange> records;  // in order, properly nested
  std::string iteration;            // name of the ranges that became iterations, # for digits; may be empty
  std::uint64_t iterations = 0;
};

// Takes the ranges that are pushed and popped by the thread whose ranges hold the most launches; `launches` has the
// times of launches, ascending. The iterations are the ranges named `wanted`, ignoring digits. If `wanted` is empty,
// they are the ranges that hold the most launches, at least half of them, occur at least twice and do not overlap; of
// nested candidates the outermost. Throws InputError if no ranges have that name.
RangesOfReport ranges_of_report(const std::vector<NsysReport::Range>& ranges, const std::vector<std::int64_t>& launches,
                                const std::string& wanted);

}  // namespace uvmsim::trace
