// SPDX-License-Identifier: Apache-2.0
// Finds the cliff of a program: the amount of GPU memory at which its time rises most per byte that is taken away.
//
// The program runs with less and less memory, in equal steps from its whole footprint down to footprint / `largest
// factor`. The steepest step is divided into three, the steepest of these again, until it is as small as kFinestStep of
// the footprint. Whether the steepest step is a cliff follows from two numbers that are printed: its steepness against
// the mean over all steps, and its rise against the time with room for all.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/report/run_record.h"
#include "sim/sweep/resolve.h"
#include "sim/sweep/run_point.h"
#include "sim/why/why.h"

namespace uvmsim::cliff {

inline constexpr std::uint64_t kSteps = 9;         // equal ones, before any is divided
inline constexpr std::uint64_t kParts = 3;         // of a divided step
inline constexpr std::uint64_t kFinestStep = 200;  // the search ends at a step of footprint / 200, or of one chunk
inline constexpr std::uint64_t kSteepThousandths = 4000;  // a cliff is at least so much steeper than the mean
inline constexpr std::uint64_t kRisePerMille = 50;        // and rises by at least so much of the time with room for all

struct Request {
  sweep::Point program;                          // without a limit
  std::uint64_t largest_osf_thousandths = 4000;  // above 1000
};

// A run with a given amount of memory.
struct Place {
  std::uint64_t capacity_bytes = 0;
  std::uint64_t osf_thousandths = 0;  // footprint / capacity
  std::uint64_t time_ns = 0;          // of a quoted iteration, or of the whole run
  std::uint64_t slowdown_thousandths = 0;
  bool is_settled = true;
};

// The waits of a kernel or an allocation at both ends of the steepest step.
struct Growth {
  std::string name;
  why::Waiting before, after;  // with more memory, with less
  std::int64_t stall_ns() const { return after.stall_ns - before.stall_ns; }
  why::Cause main_cause() const;  // of the growth
};

struct Answer {
  Request request;
  report::RunRecord run;                    // the one at `after`, with its baseline
  std::vector<Place> places;                // all runs, by falling memory
  std::size_t before = 0, after = 0;        // the ends of the steepest step, in `places`
  std::uint64_t steepness_thousandths = 0;  // of that step, against the mean of all
  bool is_cliff = false;
  Growth all;                           // all kernels
  std::vector<Growth> kernels, memory;  // the largest growth first; those that wait less are left out
};

// Runs points of one trace concurrently, as the named step of the progress.
using Compute = std::function<std::vector<report::RunRecord>(const std::string& step,
                                                             const std::vector<sweep::PointToRun>& points)>;

// `scratch(name)` returns the path of a temporary file. Throws InputError as sweep::Resolver and sweep::run_point() do,
// and for a footprint of fewer chunks than there are steps.
Answer find_cliff(const Request& request, sweep::Resolver& resolver, const Compute& compute,
                  const std::function<std::string(const std::string& name)>& scratch);

// Formats one screen of text.
std::string cliff_text(const Answer& answer);
// Formats schema "uvmsim.cliff/1" (README.md), one line.
std::string cliff_json(const Answer& answer);

}  // namespace uvmsim::cliff
