// SPDX-License-Identifier: Apache-2.0
// One database and one CSV file of all finished points.
#pragma once

#include <string>

#include "sim/sweep/plan.h"
#include "sim/sweep/sweep_status.h"

namespace uvmsim::sweep {

struct Collected {
  SweepStatus status;
  bool written = false;  // not for a partial sweep, unless allowed
  std::string database, csv;
};

// Writes DIR/results.sqlite and DIR/results.csv from the finished points, in plan order: the same points give the same
// bytes, whoever computed them. A sweep that is not complete is refused, or with `allow_partial` written to
// DIR/results.partial.sqlite and DIR/results.partial.csv, which are removed when it is. Throws
// InputError when a file cannot be written or a result is none.
Collected collect(const Plan& plan, const std::string& folder, bool allow_partial);

}  // namespace uvmsim::sweep
