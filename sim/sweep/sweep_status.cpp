// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_status.h"

#include "sim/sweep/point_files.h"

namespace uvmsim::sweep {

SweepStatus sweep_status(const Plan& plan, const std::string& folder) {
  const PointFiles files(folder);
  SweepStatus status;
  for (const PlannedPoint& planned : plan.points) {
    ++status.planned;
    if (files.is_finished(planned.id)) {
      ++status.finished;
    } else if (auto error = files.error(planned.id)) {
      status.failed.push_back({status.planned, planned.id, label(planned), *std::move(error)});
    }
  }
  return status;
}

}  // namespace uvmsim::sweep
