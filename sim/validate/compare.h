// SPDX-License-Identifier: Apache-2.0
// One experiment: measured against simulated, and whether the difference is within the tolerances.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/validate/campaign_comparison.h"
#include "sim/validate/experiment.h"
#include "sim/validate/observation.h"
#include "sim/validate/pair.h"

namespace uvmsim::validate {

// Allowed differences in percent of the measured value.
struct Tolerances {
  // ordered: faulting pages and transactions are equal, one by one; only time has a tolerance.
  double ordered_time = 20, ordered_time_median = 8;
  double parallel_bytes = 3, parallel_batches = 30, parallel_transactions = 30;
  double parallel_time = 25, parallel_time_median = 10;
  double library_bytes = 3, library_batches = 30, library_time = 30;
  double library_batches_median = 12, library_time_median = 12;
  double remote_bytes = 100, remote_bytes_median = 20, remote_time = 35, remote_time_median = 20;
  // cpu, prefetch: bytes of each direction are equal. campaign: as the experiment's own limits say.
};
// By name, in the order of results.
struct NamedTolerance {
  const char* name;
  double Tolerances::*value;
};
extern const std::array<NamedTolerance, 16> kTolerances;

// Which measured times are judged.
enum class TimeBasis : std::uint8_t {
  kUnobserved,  // runs in which nobody listened to the driver: the median
  kObserved,    // a run under CUPTI; the model adds what listening costs (config::ListenerCosts)
  kPublished,   // campaigns: what others published, as far as they say without a profiler
};
inline constexpr std::array kTimeBasisNames = {"unobserved", "observed", "published"};

// Unobserved where that was measured, unless `observed` asks for the times of the events.
TimeBasis time_basis(const Experiment& experiment, bool observed);
// The system as it is when that is judged: with a listener, or as it stands.
config::SystemConfig judged_system(const config::SystemConfig& system, TimeBasis basis);

struct Comparison {
  std::string name;
  ExperimentClass experiment_class = ExperimentClass::kOrdered;
  std::uint64_t line = 0;
  TimeBasis basis = TimeBasis::kObserved;
  bool has_contents = true;                  // false: only times were measured and are judged
  std::uint64_t runs = 1;                    // that the measured time is the median of
  std::uint64_t lower_ns = 0, upper_ns = 0;  // quartiles of their times; both 0 of one run

  Pair batches;
  Pair htod_bytes, htod_fault_bytes, htod_prefetch_bytes, htod_user_bytes;
  Pair dtoh_bytes, dtoh_fault_bytes, dtoh_prefetch_bytes, dtoh_user_bytes, dtoh_evict_bytes;
  Pair dtod_bytes;  // from other GPUs
  Pair htod_transactions, dtoh_transactions, dtod_transactions, transactions;
  Pair remote_maps, cpu_faults, thrashing;
  Pair remote_bytes;  // kRemote; both 0 where they were not measured
  // Contents of the batches, medians but the first; all 0 where no raw faults were recorded.
  Pair raw_faults, raw_faults_per_batch, pages_per_batch, sms_per_batch, raising_ns_per_batch;
  std::optional<PageOrder> page_order;  // none: not recorded, or the sides have too few pages in common
  Pair kernel_ns;                       // as it was
  // What is judged. Unobserved: of `cpu` and `prefetch` the whole time, the host's included; of the others the
  // kernels'. Of observed times of `ordered` the one-off start-up of the first fault is taken off both sides: the part
  // of the first batch that the system file calls first_fault_ns, and as much of the measured first batch as exceeds
  // what the model needs for it without that part.
  Pair time_ns;
  Pair quiet_ns;                   // the same from quiet_kernel_ns of both sides; unobserved: as time_ns
  bool same_pages = false;         // batch by batch: lowest faulting page
  bool same_transactions = false;  // one by one in each direction: cause, offset, bytes
  bool same_remote_maps = false;
  std::optional<CampaignRun> campaign;  // says more than the sums above

  std::vector<Failure> failures;        // empty = within
  std::vector<Failure> quiet_failures;  // the same judged by quiet_ns instead of time_ns

  bool within() const { return failures.empty(); }
  // Programs of CPU and GPU in turns: only their bytes can be outside; their times and transactions are shown, not
  // judged.
  bool judged() const { return experiment_class != ExperimentClass::kCpu; }
  // Nothing that is counted differs (time may).
  bool exact() const;
};

Comparison compare(const Experiment& experiment, const Observation& measured, const Observation& simulated,
                   const config::SystemConfig& system, TimeBasis basis, const Tolerances& tolerances);

// The same of a campaign. It is judged later, by judge(), as its cold run may be another experiment (null: not
// there).
Comparison compare_campaign(const Experiment& experiment, CampaignRun run);
void judge(const Experiment& experiment, const CampaignRun* cold, Comparison& comparison);

// Numbers of both sides, each with its key in results, in their order. `of`: null for what compare() works out by
// itself. `figure`: what a campaign publishes of it; kCount: nothing.
struct Quantity {
  const char* key;
  Pair Comparison::*pair;
  std::uint64_t (*of)(const Observation&);
  figure::Index figure = figure::kCount;
};
extern const std::array<Quantity, 27> kQuantities;

}  // namespace uvmsim::validate
