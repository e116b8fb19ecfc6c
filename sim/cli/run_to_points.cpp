// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/run_to_points.h"

namespace uvmsim::cli {

sweep::Point shared_point(const RunArguments& run) {
  sweep::Point point;
  point.trace = run.trace;
  point.partial = run.partial;
  point.layout = layout::given_text(run.layout);
  point.system = run.system;
  point.settings = run.settings;
  point.footprint_bytes = run.footprint_bytes;
  point.touched_footprint = run.touched_footprint;
  point.hypothetical_capacity = run.hypothetical_capacity;
  static_cast<PolicyChoices&>(point) = run;
  point.plugins = run.plugins;
  point.seed = run.seed;
  point.include_host_gaps = run.include_host_gaps;
  point.iterations = run.iterations;
  point.until_settled = run.until_settled;
  point.replay_all = run.replay_all;
  point.time_scale_millionths = run.time_scale_millionths;
  point.recorded_on = run.recorded_on;
  return point;
}

std::vector<sweep::Point> points_of(const RunArguments& run) {
  std::vector<sweep::Point> points;
  if (run.capacity_bytes != 0) {
    points.push_back(shared_point(run));
    points.back().capacity_bytes = run.capacity_bytes;
  }
  for (const std::uint64_t osf : run.osf_thousandths) {
    points.push_back(shared_point(run));
    points.back().osf_thousandths = osf;
  }
  if (points.empty()) points.push_back(shared_point(run));
  std::vector<sweep::Point> seeded;
  for (const sweep::Point& point : points) {
    for (std::uint64_t seed = 0; seed < run.seeds; ++seed) {
      seeded.push_back(point);
      seeded.back().seed += seed;
    }
  }
  return seeded;
}

}  // namespace uvmsim::cli
