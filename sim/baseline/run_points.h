// SPDX-License-Identifier: Apache-2.0
// Runs many points on all cores and keeps their metrics.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sim/baseline/baseline.h"
#include "sim/compare/run_view.h"
#include "sim/sweep/point.h"

namespace uvmsim::baseline {

struct RunRequest {
  sweep::Point point;
  std::string trace_sha256;  // the only trace that will do; empty: any
};

struct RunAnswer {
  std::string error;         // one line; empty: it ran
  bool is_bug = false;       // the error is one of uvmsim or of a plug-in, not of the inputs
  std::string trace_sha256;  // of the trace that is there
  MadeBy made_by;
  compare::Metrics metrics;
  std::uint64_t host_ns = 0;  // how long it took to compute, by the clock of this machine
  PluginFiles plugins = {};
};

// Called now and then with how many are done; may throw to stop (Ctrl-C). May be empty.
using RunProgress = std::function<void(std::size_t done)>;

// Answers in the order of the requests, the same for any number of jobs. Each point runs in a process of its own kind
// (sweep/worker_pool.h): one that crashes is an error of that point alone.
std::vector<RunAnswer> run_points(const std::vector<RunRequest>& requests, std::size_t jobs,
                                  const RunProgress& progress = {});

}  // namespace uvmsim::baseline
