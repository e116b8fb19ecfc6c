#include "sim/validate/quiet.h"

#include <algorithm>
#include <vector>

namespace uvmsim::validate {

namespace {

constexpr std::int64_t kShortestStallNs = 120000;
constexpr std::int64_t kStallOverQuartile = 4;

// Leads of all batches but the first, in order.
std::vector<std::int64_t> leads_of(const Experiment& experiment) {
  std::vector<MeasuredEvent> batches, arrivals;
  for (const MeasuredEvent& event : experiment.events) {
    if (event.kind == EventKind::kFaultBatch) batches.push_back(event);
    if (event.kind == EventKind::kHostToDevice) arrivals.push_back(event);
  }
  std::stable_sort(batches.begin(), batches.end(),
                   [](const MeasuredEvent& a, const MeasuredEvent& b) { return a.end_ns < b.end_ns; });
  std::vector<std::int64_t> leads;
  std::size_t next = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const MeasuredEvent& batch = batches[i];
    std::int64_t until = batch.end_ns;
    if (next < arrivals.size() && arrivals[next].start_ns <= batch.end_ns) until = arrivals[next].start_ns;
    while (next < arrivals.size() && arrivals[next].start_ns <= batch.end_ns) ++next;
    if (i == 0) continue;
    leads.push_back(std::max<std::int64_t>(0, until - std::max(batch.start_ns, batches[i - 1].end_ns)));
  }
  return leads;
}

}  // namespace

std::int64_t quiet_kernel_ns(const Experiment& experiment) {
  std::int64_t kernels_ns = 0;
  for (const MeasuredKernel& kernel : experiment.kernels) kernels_ns += kernel.end_ns - kernel.start_ns;
  std::vector<std::int64_t> leads = leads_of(experiment);
  if (leads.empty()) return kernels_ns;
  std::sort(leads.begin(), leads.end());
  const std::int64_t limit = std::max(kShortestStallNs, kStallOverQuartile * leads[(leads.size() - 1) / 4]);
  const auto first_stall = std::upper_bound(leads.begin(), leads.end(), limit);
  const auto undisturbed = static_cast<std::size_t>(first_stall - leads.begin());  // at least the quartile itself
  const std::int64_t usual = leads[(undisturbed - 1) / 2];
  std::int64_t stalled_ns = 0;
  for (auto lead = first_stall; lead != leads.end(); ++lead) stalled_ns += *lead - usual;
  return std::max<std::int64_t>(0, kernels_ns - stalled_ns);
}

}  // namespace uvmsim::validate
