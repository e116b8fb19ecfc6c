// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/calibration_loss.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "sim/common/error.h"
#include "sim/common/in_parallel.h"
#include "sim/validate/compare.h"

namespace uvmsim::validate {

namespace {

// The weight of a kind, independent of its number of experiments. Ordered ones count twice: the driver's rules alone
// determine their faults, so their times depend on costs only.
enum Kind : std::size_t { kOrdered, kParallel, kStream, kLibrary, kCampaign, kCopies, kKinds };
constexpr std::array<double, kKinds> kWeights = {2, 1, 1, 1, 1, 0.5};
constexpr double kTrimmedShare = 0.2;
constexpr double kBatchesWeight = 0.25;
constexpr double kWorst = 1.5;  // |ln|: a factor of 4.5 or more counts as this

Kind kind_of(const Experiment& experiment) {
  switch (experiment.mode) {
    case Mode::kOrdered:
      return kOrdered;
    case Mode::kParallel:
      return kParallel;
    case Mode::kStreamRead:
    case Mode::kStreamWrite:
    case Mode::kVectorAdd:
      return kStream;
    case Mode::kLibrary:
      return kLibrary;
    case Mode::kCampaign:
      return kCampaign;
    case Mode::kRemote:
    case Mode::kCpu:
    case Mode::kPrefetch:
      break;
  }
  return kKinds;
}

double deviation(std::uint64_t measured, std::uint64_t simulated) {
  const double ratio = (static_cast<double>(simulated) + 1) / (static_cast<double>(measured) + 1);
  return std::min(kWorst, std::abs(std::log(ratio)));
}

std::uint64_t copying_ns(const Observation& seen) {
  std::int64_t sum = 0;
  for (const ObservedTransfer& transfer : seen.transfers) {
    if (transfer.direction == TransferDirection::kHostToDevice) sum += transfer.end_ns - transfer.start_ns;
  }
  return static_cast<std::uint64_t>(std::max<std::int64_t>(sum, 0));
}

// The mean over a campaign's published step times and, with less weight, numbers of copies.
std::optional<double> campaign_term(const CampaignRun& run) {
  double sum = 0, weights = 0;
  const auto add = [&](const std::optional<Pair>& pair, double weight) {
    if (!pair || pair->measured == 0) return;
    sum += weight * deviation(pair->measured, pair->simulated);
    weights += weight;
  };
  for (const CampaignStep& step : run.steps) {
    add(step.pair(figure::kTime), 1);
    if (!step.lost_records) add(step.pair(figure::kCopies), kBatchesWeight);
  }
  add(run.steady_ns, 1);
  return weights == 0 ? std::nullopt : std::optional(sum / weights);
}

double trimmed_mean(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  values.resize(values.size() - static_cast<std::size_t>(static_cast<double>(values.size()) * kTrimmedShare));
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

CalibrationLoss::CalibrationLoss(const std::vector<ExperimentFile>& files, const config::SystemConfig& base) {
  for (const ExperimentFile& file : files) {
    for (const Experiment& experiment : file.experiments) {
      if (kind_of(experiment) == kKinds) continue;
      // A campaign's program has many records, so each replay generates it anew.
      Program program = naming(file.path, experiment,
                               [&] { return experiment.campaign ? Program{} : make_program(experiment, base); });
      items_.push_back({&experiment, &file.path, std::move(program), observe_measured(experiment)});
    }
  }
}

Observation CalibrationLoss::simulate(const Item& item, const config::SystemConfig& system) const {
  return naming(*item.path, *item.experiment, [&] { return observe_simulated(item.program, system); });
}

CalibrationLoss::Terms CalibrationLoss::terms_of(const Item& item, const config::SystemConfig& system) const {
  Terms terms;
  if (const auto& campaign = item.experiment->campaign) {
    const CampaignRun run =
        naming(*item.path, *item.experiment, [&] { return replay_campaign(item.experiment->name, *campaign, system); });
    if (const auto term = campaign_term(run)) terms.emplace_back(kCampaign, *term);
    for (const auto index : {figure::kCopyTime, figure::kCopyInTime, figure::kCopyOutTime}) {
      const auto copying = run.total.pair(index);
      if (copying && copying->measured > 0) {
        terms.emplace_back(kCopies, deviation(copying->measured, copying->simulated));
      }
    }
    return terms;
  }
  const TimeBasis basis = time_basis(*item.experiment, false);
  const config::SystemConfig judged = judged_system(system, basis);
  const Observation simulated = simulate(item, judged);
  const Comparison seen = compare(*item.experiment, item.measured, simulated, judged, basis, Tolerances{});
  const Kind kind = kind_of(*item.experiment);
  if (seen.time_ns.measured > 0) {
    double term = (deviation(seen.time_ns.measured, seen.time_ns.simulated) +
                   deviation(seen.quiet_ns.measured, seen.quiet_ns.simulated)) /
                  2;
    if (kind != kOrdered && item.experiment->has_contents) {
      term += kBatchesWeight * deviation(seen.batches.measured, seen.batches.simulated);
    }
    terms.emplace_back(kind, term);
  }
  // Copies are timed by a listener, which delays them.
  const std::uint64_t copying = basis == TimeBasis::kObserved ? copying_ns(item.measured) : 0;
  if (copying > 0) terms.emplace_back(kCopies, deviation(copying, copying_ns(simulated)));
  return terms;
}

double CalibrationLoss::operator()(const config::SystemConfig& system) const {
  std::vector<Terms> of_items(items_.size());
  in_parallel(items_.size(), available_cpus(), [&](std::size_t i) { of_items[i] = terms_of(items_[i], system); });
  std::array<std::vector<double>, kKinds> terms;
  for (const Terms& of_item : of_items) {
    for (const auto& [kind, term] : of_item) terms[kind].push_back(term);
  }
  double sum = 0, weights = 0;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (terms[kind].empty()) continue;
    sum += kWeights[kind] * trimmed_mean(terms[kind]);
    weights += kWeights[kind];
  }
  if (weights == 0) throw_input_error("no experiment has a kernel whose time could be fitted");
  return sum / weights;
}

std::uint64_t CalibrationLoss::first_fault_ns(const config::SystemConfig& system, std::uint64_t fallback) const {
  std::vector<std::int64_t> samples;
  for (const Item& item : items_) {
    if (item.experiment->mode != Mode::kOrdered) continue;
    const std::int64_t measured = item.measured.first_batch_ns();
    if (measured <= 0) continue;
    const std::int64_t first = simulate(item, judged_system(system, TimeBasis::kObserved)).first_batch_ns();
    const std::int64_t rest = first - std::min(first, static_cast<std::int64_t>(system.costs.first_fault_ns));
    samples.push_back(std::max<std::int64_t>(measured - rest, 0));
  }
  if (samples.empty()) return fallback;
  std::sort(samples.begin(), samples.end());
  return static_cast<std::uint64_t>(samples[samples.size() / 2]);
}

}  // namespace uvmsim::validate
