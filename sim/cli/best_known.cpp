// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/best_known.h"

namespace uvmsim::cli {
namespace {

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

std::vector<sweep::Point> rivals_of(const RunArguments& run, const sweep::Point& point,
                                    const policy::Registry& registry) {
  std::vector<PolicyPair> pairs = run.best_of;
  if (run.best_of_all) {
    for (PolicyPair& pair : all_pairs(registry)) pairs.push_back(std::move(pair));
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
