// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/quiet.h"

#include <algorithm>
#include <vector>

namespace uvmsim::validate {

namespace {

constexpr std::int64_t kShortestStallNs = 120000;
constexpr std::int64_t kStallOverQuartile = 4;

// Returns the leads of all batches but the first, in order.
std::vector<std::int64_t> leads_of(const Observation& seen) {
  std::vector<ObservedBatch> batches = seen.batches;
  std::ranges::stable_sort(batches, {}, &ObservedBatch::end_ns);
  std::vector<std::int64_t> arrivals;
  for (const ObservedTransfer& transfer : seen.transfers) {
    if (transfer.direction != TransferDirection::kDeviceToHost) arrivals.push_back(transfer.start_ns);
  }
  std::vector<std::int64_t> leads;
  std::size_t next = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const ObservedBatch& batch = batches[i];
    std::int64_t until = batch.end_ns;
    if (next < arrivals.size() && arrivals[next] <= batch.end_ns) until = arrivals[next];
    while (next < arrivals.size() && arrivals[next] <= batch.end_ns) ++next;
    if (i == 0) continue;
    leads.push_back(std::max<std::int64_t>(0, until - std::max(batch.start_ns, batches[i - 1].end_ns)));
  }
  return leads;
}

}  // namespace

std::int64_t quiet_kernel_ns(const Observation& seen) {
  std::vector<std::int64_t> leads = leads_of(seen);
  if (leads.empty()) return seen.kernel_ns;
  std::sort(leads.begin(), leads.end());
  const std::int64_t limit = std::max(kShortestStallNs, kStallOverQuartile * leads[(leads.size() - 1) / 4]);
  const auto first_stall = std::upper_bound(leads.begin(), leads.end(), limit);
  const auto undisturbed = static_cast<std::size_t>(first_stall - leads.begin());  // at least the quartile itself
  const std::int64_t usual = leads[(undisturbed - 1) / 2];
  std::int64_t stalled_ns = 0;
  for (auto lead = first_stall; lead != leads.end(); ++lead) stalled_ns += *lead - usual;
  return std::max<std::int64_t>(0, seen.kernel_ns - stalled_ns);
}

}  // namespace uvmsim::validate
