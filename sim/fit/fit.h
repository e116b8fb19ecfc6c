// SPDX-License-Identifier: Apache-2.0
// Predicts whether a program fits, and how slow it is, on several machines under the driver without changes to the
// program. Every figure is a run (sweep/run_point.h); nothing is extrapolated.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/config/calibration.h"
#include "sim/report/run_record.h"
#include "sim/sweep/resolve.h"
#include "sim/sweep/run_point.h"

namespace uvmsim::fit {

// The largest factor tried: a program of four times the GPU's memory.
inline constexpr std::uint64_t kLargestOsfThousandths = 4000;

struct Request {
  sweep::Point program;                     // without limit and bounds; its system is replaced by each of `systems`
  std::vector<std::string> systems;         // names or paths, in the order of the answer
  std::uint64_t budget_thousandths = 2000;  // the largest slowdown that the user accepts
};

// A run with one change.
struct Change {
  std::string what;
  std::uint64_t time_ns = 0, slowdown_thousandths = 0;
  bool is_settled = true;
};

struct Machine {
  config::Calibration calibration;
  report::RunRecord run;          // with all of one GPU's memory; includes its baseline and its uncertainty
  bool fits = false;              // the GPU holds the whole program at its peak
  bool is_within_budget = false;  // the slowdown of `run`
  // The largest factor (footprint / memory) known to be within the budget; a factor larger by at most 0.05 is not. The
  // value is 1000 if the first step is too slow already, and kLargestOsfThousandths if all steps are within. Slowdowns
  // are assumed to rise with the factor.
  std::uint64_t affordable_osf_thousandths = 0;
  // The memory that a GPU of this kind needs for managed data to run this program within the budget: footprint / that
  // factor.
  std::uint64_t needed_bytes() const;
  std::vector<Change> changes;  // if it does not fit: twice the host link's speed, twice the memory
};

struct Answer {
  Request request;
  std::vector<Machine> machines;  // in the order of Request::systems
};

// Runs points of one trace concurrently, as the named step of the progress.
using Compute = std::function<std::vector<report::RunRecord>(const std::string& step,
                                                             const std::vector<sweep::PointToRun>& points)>;

// Throws InputError as sweep::Resolver and sweep::run_point() do.
Answer fit(const Request& request, sweep::Resolver& resolver, const Compute& compute);

// Formats a table with its conditions.
std::string fit_text(const Answer& answer);
// Formats schema "uvmsim.fit/1" (README.md), one line.
std::string fit_json(const Answer& answer);

}  // namespace uvmsim::fit
