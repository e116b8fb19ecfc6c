// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/run_length.h"

#include <algorithm>

namespace uvmsim::sweep {
namespace {

bool knows_future(const report::RunRecord& record) {
  const auto d4 = policy::information_class_name(policy::InformationClass::kD4);
  return std::ranges::any_of(record.policies, [&](const auto& used) { return used.information_class == d4; });
}

}  // namespace

RunLength run_length(const ResolvedPoint& resolved, TraceInput& input, const ReadProgress& progress) {
  const Point& point = resolved.point;
  if (point.as_recorded) return {};
  if (point.iterations != 0) return {point.iterations, point.until_settled, {}};
  const trace::Repeatable& trace = input.repeatable(progress);
  if (!trace.obstacle.empty()) return {0, false, trace.marked == 0 ? "" : trace.obstacle};
  if (knows_future(resolved.record)) return {std::max(trace.marked, kKnownIterations), false, {}};
  return {std::max(trace.marked, kMostIterations), true, {}};
}

void fix_length(Point& point, TraceInput& input) {
  if (point.iterations != 0 || point.as_recorded) return;
  const trace::Repeatable& trace = input.repeatable();
  point.until_settled = false;
  point.as_recorded = !trace.obstacle.empty();
  if (!point.as_recorded) point.iterations = std::max(trace.marked, kKnownIterations);
}

std::uint64_t most_records(const RunLength& length, TraceInput& input) {
  if (length.iterations == 0) return input.records();
  const std::uint64_t marked = input.repeatable().marked;
  if (length.iterations <= marked || marked == 0) return input.records();
  return input.records() + input.records() / marked * (length.iterations - marked);
}

}  // namespace uvmsim::sweep
