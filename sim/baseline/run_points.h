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
  std::string trace_sha256;  // the only accepted trace; empty: any
};

struct RunAnswer {
  std::string error;         // one line; empty: no error
  bool is_bug = false;       // the error is one of uvmsim or of a plug-in, not of the inputs
  std::string trace_sha256;  // of the present trace
  MadeBy made_by;
  compare::Metrics metrics;
  std::uint64_t host_ns = 0;  // wall-clock time of the computation on this machine
  PluginFiles plugins = {};
};

// Called regularly with the number of finished points; may throw to stop (Ctrl-C). May be empty.
using RunProgress = std::function<void(std::size_t done)>;

// Returns the answers in the order of the requests, independently of the number of jobs. Points run in worker processes
// (sweep/worker_pool.h): a crash is an error of its point alone.
std::vector<RunAnswer> run_points(const std::vector<RunRequest>& requests, std::size_t jobs,
                                  const RunProgress& progress = {});

}  // namespace uvmsim::baseline
