// SPDX-License-Identifier: Apache-2.0
// How far a sweep is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/sweep/plan.h"

namespace uvmsim::sweep {

struct FailedPoint {
  std::uint64_t position = 0;  // in the plan, from 1
  std::string id, label, error;
};

struct SweepStatus {
  std::uint64_t planned = 0, finished = 0;
  std::vector<FailedPoint> failed;
  std::uint64_t missing() const { return planned - finished - failed.size(); }
  bool complete() const { return finished == planned; }
};

// Reads every point's file, whole.
SweepStatus sweep_status(const Plan& plan, const std::string& folder);

}  // namespace uvmsim::sweep
