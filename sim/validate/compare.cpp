// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/compare.h"

#include <algorithm>

#include "sim/validate/quiet.h"

namespace uvmsim::validate {

namespace {

std::uint64_t as_count(std::int64_t value) { return value < 0 ? 0 : static_cast<std::uint64_t>(value); }

bool same_pages(const Observation& a, const Observation& b) {
  return std::equal(a.batches.begin(), a.batches.end(), b.batches.begin(), b.batches.end(),
                    [](const ObservedBatch& x, const ObservedBatch& y) {
                      return x.offset == y.offset && x.allocation == y.allocation;
                    });
}

// One by one in each direction: the engines of two directions run side by side.
bool same_transactions(const Observation& a, const Observation& b) {
  const auto by_direction = [](const Observation& seen) {
    std::vector<ObservedTransfer> transfers = seen.transfers;
    std::stable_sort(transfers.begin(), transfers.end(),
                     [](const ObservedTransfer& x, const ObservedTransfer& y) { return x.direction < y.direction; });
    return transfers;
  };
  const std::vector<ObservedTransfer> first = by_direction(a), second = by_direction(b);
  return std::equal(first.begin(), first.end(), second.begin(), second.end(),
                    [](const ObservedTransfer& x, const ObservedTransfer& y) {
                      return x.direction == y.direction && x.cause == y.cause && x.offset == y.offset &&
                             x.allocation == y.allocation && x.bytes == y.bytes;
                    });
}

void fill_counts(Comparison& result, const Observation& m, const Observation& s) {
  constexpr auto in = TransferDirection::kHostToDevice, out = TransferDirection::kDeviceToHost,
                 peer = TransferDirection::kDeviceToDevice;
  const auto bytes = [&](TransferDirection d, TransferCause c) { return Pair{m.bytes(d, c), s.bytes(d, c)}; };
  result.batches = {m.batches.size(), s.batches.size()};
  result.htod_bytes = {m.bytes(in), s.bytes(in)};
  result.htod_fault_bytes = bytes(in, TransferCause::kFault);
  result.htod_prefetch_bytes = bytes(in, TransferCause::kPrefetch);
  result.htod_user_bytes = bytes(in, TransferCause::kUser);
  result.dtoh_bytes = {m.bytes(out), s.bytes(out)};
  result.dtoh_fault_bytes = bytes(out, TransferCause::kFault);
  result.dtoh_prefetch_bytes = bytes(out, TransferCause::kPrefetch);
  result.dtoh_user_bytes = bytes(out, TransferCause::kUser);
  result.dtoh_evict_bytes = bytes(out, TransferCause::kEvict);
  result.dtod_bytes = {m.bytes(peer), s.bytes(peer)};
  result.htod_transactions = {m.transactions(in), s.transactions(in)};
  result.dtoh_transactions = {m.transactions(out), s.transactions(out)};
  result.dtod_transactions = {m.transactions(peer), s.transactions(peer)};
  result.transactions = {m.transactions(), s.transactions()};
  result.remote_maps = {m.remote_maps.size(), s.remote_maps.size()};
  result.cpu_faults = {m.cpu_faults, s.cpu_faults};
  result.thrashing = {m.thrashing, s.thrashing};
  result.same_pages = same_pages(m, s);
  result.same_transactions = same_transactions(m, s);
  result.same_remote_maps = m.remote_maps == s.remote_maps;
}

void fill_times(Comparison& result, const Observation& measured, const Observation& simulated,
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

class Judge {
 public:
  explicit Judge(std::vector<Failure>& failures) : failures_(failures) {}

  void within(const char* check, const Pair& pair, double allowed_percent) {
    if (pair.error() > allowed_percent) failures_.push_back({check, pair.error()});
  }
  void equal(const char* check, bool same) {
    if (!same) failures_.push_back({check, 0});
  }
  void equal(const char* check, const Pair& pair) { equal(check, pair.measured == pair.simulated); }

 private:
  std::vector<Failure>& failures_;
};

void judge_events(const Comparison& result, const Pair& time, const Tolerances& allowed, Judge verdict) {
  switch (result.experiment_class) {
    case ExperimentClass::kOrdered:
      verdict.equal("pages", result.same_pages);
      verdict.equal("bytes", result.htod_bytes.measured == result.htod_bytes.simulated &&
                                 result.dtoh_bytes.measured == result.dtoh_bytes.simulated &&
                                 result.dtod_bytes.measured == result.dtod_bytes.simulated);
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
    case ExperimentClass::kCpu:
    case ExperimentClass::kPrefetch:
      verdict.equal("bytes in", result.htod_bytes);
      verdict.equal("bytes out", result.dtoh_bytes);
      verdict.equal("bytes from peers", result.dtod_bytes);
      break;
    case ExperimentClass::kCampaign:
      break;  // campaign_comparison.cpp
  }
}

}  // namespace

bool Comparison::exact() const {
  return same_pages && same_transactions && same_remote_maps && cpu_faults.measured == cpu_faults.simulated &&
         thrashing.measured == thrashing.simulated;
}

Comparison compare(const Experiment& experiment, const Observation& measured, const Observation& simulated,
                   const config::SystemConfig& system, const Tolerances& tolerances) {
  Comparison result;
  result.name = experiment.name;
  result.experiment_class = experiment.experiment_class();
  result.line = experiment.line;
  fill_counts(result, measured, simulated);
  fill_times(result, measured, simulated, system);
  judge_events(result, result.time_ns, tolerances, Judge(result.failures));
  judge_events(result, result.quiet_ns, tolerances, Judge(result.quiet_failures));
  return result;
}

Comparison compare_campaign(const Experiment& experiment, CampaignRun run) {
  const auto total = [&](figure::Index index) { return run.total.pair(index).value_or(Pair{}); };
  Comparison result;
  result.name = experiment.name;
  result.experiment_class = experiment.experiment_class();
  result.line = experiment.line;
  result.htod_bytes = total(figure::kBytesIn);
  result.htod_fault_bytes = total(figure::kFaultBytesIn);
  result.htod_prefetch_bytes = total(figure::kPrefetchBytesIn);
  result.dtoh_bytes = total(figure::kBytesOut);
  result.dtoh_evict_bytes = total(figure::kEvictedBytes);
  result.htod_transactions = total(figure::kCopiesIn);
  result.dtoh_transactions = total(figure::kCopiesOut);
  result.transactions = total(figure::kCopies);
  result.batches = total(figure::kFaultBatches);
  result.cpu_faults = total(figure::kCpuFaults);
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
