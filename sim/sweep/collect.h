// SPDX-License-Identifier: Apache-2.0
// The state of a sweep, and one database and one CSV file of all its finished points.
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

// Reads every point's file as a whole.
SweepStatus sweep_status(const Plan& plan, const std::string& folder);

struct Collected {
  SweepStatus status;
  bool written = false;  // a partial sweep is written only if allowed
  std::string database, csv;
};

// Writes DIR/results.sqlite and DIR/results.csv from the finished points, in plan order. The same points give the same
// bytes, whichever process computed them. An incomplete sweep is refused; with `allow_partial` it is written to
// DIR/results.partial.sqlite and DIR/results.partial.csv, which a complete sweep removes. Throws InputError when a file
// cannot be written or is not a result.
Collected collect(const Plan& plan, const std::string& folder, bool allow_partial);

}  // namespace uvmsim::sweep
