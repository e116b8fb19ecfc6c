// SPDX-License-Identifier: Apache-2.0
// Runs the unfinished points of a planned sweep, on all cores.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/sweep/plan.h"

namespace uvmsim::sweep {

struct SweepProgress {
  std::uint64_t points = 0;    // of this shard
  std::uint64_t finished = 0;  // including those finished before this run
  std::uint64_t failed = 0;
  std::uint64_t done_thousandths = 0;             // of the work that was missing at the start, by expected cost
  std::optional<std::chrono::milliseconds> left;  // absent before the first point is done
  struct Running {
    std::string label;
    std::chrono::milliseconds elapsed;
  };
  std::vector<Running> running;  // the longest first; updated once a second
};

struct SweepRun {
  Shard shard;
  std::size_t jobs = 1;
  std::chrono::seconds point_limit{0};  // a point that takes longer in wall-clock time fails; 0: no limit
  // Called about ten times a second and after every point; may throw to stop the run (Ctrl-C).
  std::function<void(const SweepProgress&)> progress;
  // Called for each point that fails, with its label and the error.
  std::function<void(const std::string& label, const std::string& error)> failed;
};

// Computes every point of the shard that has no complete result, including failed ones, and writes each when it is
// done. Several processes may call this on one folder at the same time and share its points. Returns the final state,
// in which the failed points are those of this run. Throws InputError when the plan is another version's or nothing can
// be written, and passes on what `progress` throws; finished points stay in the folder.
SweepProgress run_sweep(const Plan& plan, const std::string& folder, const SweepRun& run);

}  // namespace uvmsim::sweep
