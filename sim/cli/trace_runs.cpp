// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/trace_runs.h"
#include "sim/cli/say.h"

#include <fmt/format.h>

#include <utility>

#include "sim/common/in_parallel.h"
#include "sim/policy/registry.h"

namespace uvmsim::cli {
namespace {

// Several runs replay a trace up to this size from memory.
constexpr std::uint64_t kLargestKeptTrace = std::uint64_t{64} << 20;

std::vector<PolicyPair> all_pairs(const policy::Registry& registry) {
  std::vector<PolicyPair> pairs;
  const auto policies = registry.list();
  for (const policy::PolicyEntry* prefetch : policies) {
    if (prefetch->slot != policy::Slot::kPrefetch || prefetch->joint()) continue;
    for (const policy::PolicyEntry* evict : policies) {
      if (evict->slot != policy::Slot::kEvict || evict->joint()) continue;
      pairs.push_back({{prefetch->info.name, {}}, {evict->info.name, {}}});
    }
  }
  return pairs;
}

}  // namespace

TraceRuns::TraceRuns(const RunArguments& run)
    : run_(run), resolver_(kLargestKeptTrace), trace_(resolver_.trace(run.shared)), progress_(run.verbose) {}

void TraceRuns::measure() {
  const sweep::ResolvedPoint shared = resolver_.resolve(run_.shared);
  for (const sweep::Point& rival : rivals_of(run_.shared)) resolver_.resolve(rival);
  progress_.begin("reading " + trace_.name(), 0);
  const std::uint64_t footprint = sweep::divided_footprint_bytes(shared, trace_, progress_.reporter());
  progress_.end();
  if (trace_.truncated()) say("uvmsim: {}; using the {} records before", trace_.truncation(), trace_.records());
  for (const std::uint64_t osf : run_.osf_thousandths) sweep::check_factor(osf, footprint, "--osf", trace_.name());
}

std::vector<report::RunRecord> TraceRuns::compute(Computation& how, const std::string& step,
                                                  const std::vector<sweep::PointToRun>& points) {
  const sweep::RecordsToReplay records_to_replay = sweep::records_of(points, trace_);
  progress_.begin(step, records_to_replay.most, records_to_replay.open);
  std::vector<report::RunRecord> records = how(points, trace_, available_cpus(), progress_.reporter());
  progress_.end();
  return records;
}

std::vector<sweep::Point> TraceRuns::rivals_of(const sweep::Point& point) const {
  std::vector<PolicyPair> pairs = run_.best_of;
  if (run_.best_of_all) {
    for (PolicyPair& pair : all_pairs(resolver_.registry())) pairs.push_back(std::move(pair));
  }
  std::vector<sweep::Point> points;
  for (const PolicyPair& pair : pairs) {
    points.push_back(point);
    points.back().prefetch = pair.prefetch;
    points.back().evict = pair.evict;
  }
  return points;
}

void note_known(report::RunBounds& bounds, const report::RunRecord& run) {
  if (bounds.best_known && bounds.best_known->total <= run.result.total) return;
  bounds.best_known = report::BestKnown{run.options.prefetch, run.options.evict, run.result.total};
}

}  // namespace uvmsim::cli
