// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/compare.h"

#include <algorithm>
#include <tuple>

#include "sim/validate/quiet.h"

namespace uvmsim::validate {

namespace {

std::uint64_t as_count(std::int64_t value) { return value < 0 ? 0 : static_cast<std::uint64_t>(value); }

bool same_pages(const Observation& a, const Observation& b) {
  const auto page = [](const ObservedBatch& batch) { return std::tie(batch.offset, batch.allocation); };
  return std::ranges::equal(a.batches, b.batches, {}, page, page);
}

// One by one in each direction: the engines of two directions run side by side.
bool same_transactions(const Observation& a, const Observation& b) {
  const auto by_direction = [](const Observation& seen) {
    std::vector<ObservedTransfer> transfers = seen.transfers;
    std::ranges::stable_sort(transfers, {}, &ObservedTransfer::direction);
    return transfers;
  };
  const auto what = [](const ObservedTransfer& seen) {
    return std::tie(seen.direction, seen.cause, seen.offset, seen.allocation, seen.bytes);
  };
  return std::ranges::equal(by_direction(a), by_direction(b), {}, what, what);
}

using Seen = Observation;
using Cause = TransferCause;
constexpr auto kIn = TransferDirection::kHostToDevice, kOut = TransferDirection::kDeviceToHost,
               kPeers = TransferDirection::kDeviceToDevice;

template <TransferDirection kDirection>
std::uint64_t transactions(const Seen& seen) {
  return seen.transactions(kDirection);
}
template <TransferDirection kDirection, Cause... kCause>
std::uint64_t bytes(const Seen& seen) {
  return seen.bytes(kDirection, kCause...);
}

void fill_observed_times(Comparison& result, const Observation& measured, const Observation& simulated,
                         const config::SystemConfig& system) {
  std::int64_t measured_startup = 0, simulated_startup = 0;
  if (result.experiment_class == ExperimentClass::kOrdered) {
    const std::int64_t first = simulated.first_batch_ns();
    simulated_startup = std::min(first, static_cast<std::int64_t>(system.costs.first_fault_ns));
    measured_startup = std::max<std::int64_t>(0, measured.first_batch_ns() - (first - simulated_startup));
  }
  result.kernel_ns = {as_count(measured.kernel_ns), as_count(simulated.kernel_ns)};
  result.time_ns = {as_count(measured.kernel_ns - measured_startup), as_count(simulated.kernel_ns - simulated_startup)};
  result.quiet_ns = {as_count(quiet_kernel_ns(measured) - measured_startup),
                     as_count(quiet_kernel_ns(simulated) - simulated_startup)};
}

void fill_raw_contents(Comparison& result, const RawContents& measured, const RawContents& simulated) {
  result.raw_faults = {measured.raw_faults, simulated.raw_faults};
  result.raw_faults_per_batch = {measured.raw_faults_per_batch, simulated.raw_faults_per_batch};
  result.pages_per_batch = {measured.pages_per_batch, simulated.pages_per_batch};
  result.sms_per_batch = {measured.sms_per_batch, simulated.sms_per_batch};
  if (measured.raising_ns_per_batch) {
    result.raising_ns_per_batch = {*measured.raising_ns_per_batch, simulated.raising_ns_per_batch.value_or(0)};
  }
  if (!measured.page_order.empty()) result.page_order = compare_page_order(measured.page_order, simulated.page_order);
}

// The launches and the allocation of the outputs.
std::int64_t call_ns(const Experiment& experiment, const config::RuntimeCosts& costs) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  std::uint64_t sum = costs.launch_ns * experiment.kernels.size();
  for (const Allocation& tensor : experiment.allocations) {
    if (tensor.output) sum += costs.allocate_ns + costs.allocate_ns_per_gib * tensor.bytes / kGiB;
  }
  return static_cast<std::int64_t>(sum);
}

// The whole of each run: what the host did counts where it is what was measured.
// `call_ns`: what a library call takes beside its kernels.
void fill_unobserved_times(Comparison& result, const UnobservedTimes& measured, const Observation& simulated,
                           std::int64_t call_ns) {
  const bool host_too = !result.judged() || result.experiment_class == ExperimentClass::kPrefetch;
  std::vector<std::int64_t> runs = measured.call_ns.empty() ? measured.kernel_ns : measured.call_ns;
  if (host_too) {
    runs.resize(std::max(runs.size(), measured.host_ns.size()));
    for (std::size_t i = 0; i < measured.host_ns.size(); ++i) runs[i] += measured.host_ns[i];
  }
  std::sort(runs.begin(), runs.end());
  result.runs = runs.size();
  if (runs.size() > 1) {
    result.lower_ns = as_count(runs[(runs.size() - 1) / 4]);
    result.upper_ns = as_count(runs[runs.size() - 1 - (runs.size() - 1) / 4]);
  }
  const std::int64_t simulated_ns = simulated.kernel_ns + (measured.call_ns.empty() ? 0 : call_ns);
  result.kernel_ns = {as_count(median(measured.call_ns.empty() ? measured.kernel_ns : measured.call_ns)),
                      as_count(simulated_ns)};
  result.time_ns = {as_count(median(runs)), as_count(host_too ? simulated.elapsed_ns : simulated_ns)};
  result.quiet_ns = result.time_ns;
}

std::vector<Failure> judge_events(const Comparison& result, const Pair& time, const Tolerances& allowed) {
  Verdict verdict;
  if (!result.has_contents) {
    verdict.within("time", time,
                   result.experiment_class == ExperimentClass::kOrdered    ? allowed.ordered_time
                   : result.experiment_class == ExperimentClass::kParallel ? allowed.parallel_time
                                                                           : allowed.library_time);
    return verdict.take();
  }
  switch (result.experiment_class) {
    case ExperimentClass::kOrdered:
      verdict.equal("pages", result.same_pages);
      verdict.equal("bytes", result.htod_bytes.equal() && result.dtoh_bytes.equal() && result.dtod_bytes.equal());
      verdict.equal("transactions", result.same_transactions);
      verdict.equal("remote maps", result.same_remote_maps);
      verdict.within("time", time, allowed.ordered_time);
      break;
    case ExperimentClass::kParallel:
      verdict.within("bytes in", result.htod_bytes, allowed.parallel_bytes);
      verdict.within("bytes out", result.dtoh_bytes, allowed.parallel_bytes);
      verdict.within("bytes from peers", result.dtod_bytes, allowed.parallel_bytes);
      verdict.within("batches", result.batches, allowed.parallel_batches);
      verdict.within("transactions", result.transactions, allowed.parallel_transactions);
      verdict.within("time", time, allowed.parallel_time);
      break;
    case ExperimentClass::kLibrary:
      verdict.within("bytes in", result.htod_bytes, allowed.library_bytes);
      verdict.within("bytes out", result.dtoh_bytes, allowed.library_bytes);
      verdict.within("batches", result.batches, allowed.library_batches);
      verdict.within("time", time, allowed.library_time);
      break;
    case ExperimentClass::kRemote:
      verdict.within("remote bytes", result.remote_bytes, allowed.remote_bytes);
      verdict.within("time", time, allowed.remote_time);
      break;
    case ExperimentClass::kCpu:
    case ExperimentClass::kPrefetch:
      verdict.equal("bytes in", result.htod_bytes.equal());
      verdict.equal("bytes out", result.dtoh_bytes.equal());
      verdict.equal("bytes from peers", result.dtod_bytes.equal());
      break;
    case ExperimentClass::kCampaign:
      break;  // campaign_comparison.cpp
  }
  return verdict.take();
}

Comparison named_after(const Experiment& experiment) {
  Comparison result;
  result.name = experiment.name;
  result.experiment_class = experiment.experiment_class();
  result.line = experiment.line;
  result.has_contents = experiment.has_contents;
  return result;
}

}  // namespace

using C = Comparison;
const std::array<Quantity, 27> kQuantities{{
    {"fault_batches", &C::batches, [](const Seen& s) { return std::uint64_t{s.batches.size()}; },
     figure::kFaultBatches},
    {"transactions", &C::transactions, [](const Seen& s) { return s.transactions(); }, figure::kCopies},
    {"htod_transactions", &C::htod_transactions, transactions<kIn>, figure::kCopiesIn},
    {"dtoh_transactions", &C::dtoh_transactions, transactions<kOut>, figure::kCopiesOut},
    {"dtod_transactions", &C::dtod_transactions, transactions<kPeers>},
    {"htod_bytes", &C::htod_bytes, bytes<kIn>, figure::kBytesIn},
    {"htod_fault_bytes", &C::htod_fault_bytes, bytes<kIn, Cause::kFault>, figure::kFaultBytesIn},
    {"htod_prefetch_bytes", &C::htod_prefetch_bytes, bytes<kIn, Cause::kPrefetch>, figure::kPrefetchBytesIn},
    {"htod_user_bytes", &C::htod_user_bytes, bytes<kIn, Cause::kUser>},
    {"dtoh_bytes", &C::dtoh_bytes, bytes<kOut>, figure::kBytesOut},
    {"dtoh_fault_bytes", &C::dtoh_fault_bytes, bytes<kOut, Cause::kFault>},
    {"dtoh_prefetch_bytes", &C::dtoh_prefetch_bytes, bytes<kOut, Cause::kPrefetch>},
    {"dtoh_user_bytes", &C::dtoh_user_bytes, bytes<kOut, Cause::kUser>},
    {"dtoh_evict_bytes", &C::dtoh_evict_bytes, bytes<kOut, Cause::kEvict>, figure::kEvictedBytes},
    {"dtod_bytes", &C::dtod_bytes, bytes<kPeers>},
    {"remote_maps", &C::remote_maps, [](const Seen& s) { return std::uint64_t{s.remote_maps.size()}; }},
    {"cpu_faults", &C::cpu_faults, [](const Seen& s) { return s.cpu_faults; }, figure::kCpuFaults},
    {"remote_bytes", &C::remote_bytes, [](const Seen& s) { return s.remote_bytes; }},
    {"thrashing_pages", &C::thrashing, [](const Seen& s) { return s.thrashing; }},
    {"raw_faults", &C::raw_faults, nullptr},
    {"raw_faults_per_batch", &C::raw_faults_per_batch, nullptr},
    {"pages_per_batch", &C::pages_per_batch, nullptr},
    {"sms_per_batch", &C::sms_per_batch, nullptr},
    {"raising_ns_per_batch", &C::raising_ns_per_batch, nullptr},
    {"kernel_ns", &C::kernel_ns, nullptr},
    {"judged_ns", &C::time_ns, nullptr},
    {"quiet_ns", &C::quiet_ns, nullptr},
}};

using T = Tolerances;
const std::array<NamedTolerance, 16> kTolerances{{
    {"ordered_time", &T::ordered_time},
    {"ordered_time_median", &T::ordered_time_median},
    {"parallel_bytes", &T::parallel_bytes},
    {"parallel_batches", &T::parallel_batches},
    {"parallel_transactions", &T::parallel_transactions},
    {"parallel_time", &T::parallel_time},
    {"parallel_time_median", &T::parallel_time_median},
    {"library_bytes", &T::library_bytes},
    {"library_batches", &T::library_batches},
    {"library_batches_median", &T::library_batches_median},
    {"library_time", &T::library_time},
    {"library_time_median", &T::library_time_median},
    {"remote_bytes", &T::remote_bytes},
    {"remote_bytes_median", &T::remote_bytes_median},
    {"remote_time", &T::remote_time},
    {"remote_time_median", &T::remote_time_median},
}};

bool Comparison::exact() const {
  return same_pages && same_transactions && same_remote_maps && cpu_faults.equal() && thrashing.equal();
}

TimeBasis time_basis(const Experiment& experiment, bool observed) {
  if (experiment.campaign) return experiment.campaign->observed ? TimeBasis::kObserved : TimeBasis::kPublished;
  return experiment.unobserved && !observed ? TimeBasis::kUnobserved : TimeBasis::kObserved;
}

config::SystemConfig judged_system(const config::SystemConfig& system, TimeBasis basis) {
  config::SystemConfig judged = system;
  if (basis == TimeBasis::kObserved) judged.listener.present = true;
  return judged;
}

Comparison compare(const Experiment& experiment, const Observation& measured, const Observation& simulated,
                   const config::SystemConfig& system, TimeBasis basis, const Tolerances& tolerances) {
  Comparison result = named_after(experiment);
  result.basis = basis;
  for (const Quantity& quantity : kQuantities) {
    if (quantity.of) result.*quantity.pair = {quantity.of(measured), quantity.of(simulated)};
  }
  if (experiment.mode == Mode::kRemote && !experiment.remote_bytes) result.remote_bytes = {};
  if (measured.raw && simulated.raw) fill_raw_contents(result, *measured.raw, *simulated.raw);
  result.same_pages = same_pages(measured, simulated);
  result.same_transactions = same_transactions(measured, simulated);
  result.same_remote_maps = measured.remote_maps == simulated.remote_maps;
  if (basis == TimeBasis::kUnobserved) {
    fill_unobserved_times(result, *experiment.unobserved, simulated, call_ns(experiment, system.runtime));
  } else {
    fill_observed_times(result, measured, simulated, system);
  }
  result.failures = judge_events(result, result.time_ns, tolerances);
  result.quiet_failures = judge_events(result, result.quiet_ns, tolerances);
  return result;
}

Comparison compare_campaign(const Experiment& experiment, CampaignRun run) {
  const auto total = [&](figure::Index index) { return run.total.pair(index).value_or(Pair{}); };
  Comparison result = named_after(experiment);
  result.basis = time_basis(experiment, false);
  for (const Quantity& quantity : kQuantities) {
    if (quantity.figure != figure::kCount) result.*quantity.pair = total(quantity.figure);
  }
  for (const CampaignStep& step : run.steps) {
    if (const auto time = step.pair(figure::kTime)) result.time_ns = result.time_ns + *time;
  }
  if (result.time_ns.measured == 0) result.time_ns = run.steady_ns.value_or(total(figure::kTime));
  result.kernel_ns = result.quiet_ns = result.time_ns;
  result.campaign = std::move(run);
  return result;
}

void judge(const Experiment& experiment, const CampaignRun* cold, Comparison& comparison) {
  if (cold != nullptr) add_ratio(*comparison.campaign, *cold);
  comparison.failures = comparison.quiet_failures = judge_campaign(*experiment.campaign, *comparison.campaign);
}

}  // namespace uvmsim::validate
