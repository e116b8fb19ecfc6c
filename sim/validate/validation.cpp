// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/validation.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "sim/common/error.h"
#include "sim/common/wildcard.h"
#include "sim/validate/experiment_program.h"
#include "sim/validate/observation.h"

namespace uvmsim::validate {

namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Median and worst of one error over the experiments of a class.
template <class Error>
std::string spread(const std::vector<const Comparison*>& members, Error error, double& middle, double& worst) {
  std::vector<double> values;
  std::string name;
  worst = -1;
  for (const Comparison* member : members) {
    values.push_back(error(*member));
    if (values.back() > worst) {
      worst = values.back();
      name = member->name;
    }
  }
  middle = median(values);
  return name;
}

void judge_median(const char* what, double value, double allowed, std::vector<Failure>& failures) {
  if (value > allowed) failures.push_back({what, value});
}

void judge_medians(ClassSummary& summary, const Tolerances& allowed) {
  const auto judge_time = [&](double limit) {
    judge_median("median time", summary.median_time_error, limit, summary.failures);
    judge_median("median time", summary.median_quiet_error, limit, summary.quiet_failures);
  };
  switch (summary.experiment_class) {
    case ExperimentClass::kOrdered:
      judge_time(allowed.ordered_time_median);
      break;
    case ExperimentClass::kParallel:
      judge_time(allowed.parallel_time_median);
      break;
    case ExperimentClass::kLibrary:
      judge_median("median batches", summary.median_batches_error, allowed.library_batches_median, summary.failures);
      judge_median("median batches", summary.median_batches_error, allowed.library_batches_median,
                   summary.quiet_failures);
      judge_time(allowed.library_time_median);
      break;
    case ExperimentClass::kCpu:
    case ExperimentClass::kPrefetch:
    case ExperimentClass::kCampaign:
      break;
  }
}

ClassSummary summarise(ExperimentClass experiment_class, const std::vector<const Comparison*>& members,
                       const Tolerances& allowed) {
  ClassSummary summary;
  summary.experiment_class = experiment_class;
  summary.experiments = members.size();
  for (const Comparison* member : members) {
    summary.exact += member->exact() ? 1 : 0;
    if (!member->judged()) continue;
    ++summary.judged;
    summary.within += member->failures.empty() ? 1 : 0;
    summary.quiet_within += member->quiet_failures.empty() ? 1 : 0;
  }
  summary.worst_time_name = spread(
      members, [](const Comparison& c) { return c.time_ns.error(); }, summary.median_time_error,
      summary.worst_time_error);
  summary.worst_quiet_name = spread(
      members, [](const Comparison& c) { return c.quiet_ns.error(); }, summary.median_quiet_error,
      summary.worst_quiet_error);
  spread(
      members, [](const Comparison& c) { return c.batches.error(); }, summary.median_batches_error,
      summary.worst_batches_error);
  spread(
      members,
      [](const Comparison& c) {
        return std::max({c.htod_bytes.error(), c.dtoh_bytes.error(), c.dtod_bytes.error()});
      },
      summary.median_bytes_error, summary.worst_bytes_error);
  judge_medians(summary, allowed);
  return summary;
}

Comparison replay(const Experiment& experiment, const std::string& path, const config::SystemConfig& system,
                  const Tolerances& tolerances) {
  try {
    if (experiment.campaign) {
      return compare_campaign(experiment, replay_campaign(experiment.name, *experiment.campaign, system));
    }
    const Program program = make_program(experiment, system);
    return compare(experiment, observe_measured(experiment), observe_simulated(program, system), system, tolerances);
  } catch (const InputError& error) {
    throw_input_error("{}: line {}: experiment '{}': {}", path, experiment.line, experiment.name, error.what());
  }
}

// Campaigns are judged when all have run: a cold step may be another experiment's, unless --only left that out.
void judge_campaigns(const std::vector<std::pair<const Experiment*, const ExperimentFile*>>& chosen,
                     std::vector<Comparison>& comparisons) {
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const Experiment& experiment = *chosen[i].first;
    if (!experiment.campaign) continue;
    const std::string& cold = experiment.campaign->steady ? experiment.campaign->steady->cold_run : experiment.name;
    const CampaignRun* run = cold.empty() ? &*comparisons[i].campaign : nullptr;
    for (std::size_t k = 0; run == nullptr && k < chosen.size(); ++k) {
      const bool is_it = chosen[k].second == chosen[i].second && chosen[k].first->name == cold;
      if (is_it && comparisons[k].campaign) run = &*comparisons[k].campaign;
    }
    judge(experiment, run, comparisons[i]);
  }
}

}  // namespace

bool Validation::within() const {
  const auto experiment_within = [](const Comparison& comparison) { return comparison.within(); };
  const auto class_within = [](const ClassSummary& summary) { return summary.failures.empty(); };
  return std::all_of(comparisons.begin(), comparisons.end(), experiment_within) &&
         std::all_of(classes.begin(), classes.end(), class_within);
}

Validation validate(const std::vector<ExperimentFile>& files, const config::SystemConfig& system,
                    const ValidationOptions& options) {
  Validation result;
  std::vector<std::pair<const Experiment*, const ExperimentFile*>> chosen;
  for (const ExperimentFile& file : files) {
    result.files.push_back(file.path);
    result.warnings.insert(result.warnings.end(), file.warnings.begin(), file.warnings.end());
    for (const Experiment& experiment : file.experiments) {
      if (matches(options.only, experiment.name)) chosen.emplace_back(&experiment, &file);
    }
  }
  if (chosen.empty()) {
    throw_input_error("no experiment matches '{}'; the first one of {} is '{}'", options.only, files.at(0).path,
                      files.at(0).experiments.at(0).name);
  }
  result.system = system.name;
  result.tolerances = options.tolerances;
  result.comparisons.resize(chosen.size());
  std::mutex mutex;
  std::size_t begun = 0;
  in_parallel(chosen.size(), options.threads, [&](std::size_t i) {
    if (options.progress) {
      const std::lock_guard lock(mutex);
      options.progress(begun++, chosen.size());
    }
    result.comparisons[i] = replay(*chosen[i].first, chosen[i].second->path, system, options.tolerances);
  });
  judge_campaigns(chosen, result.comparisons);
  for (const auto experiment_class : {ExperimentClass::kOrdered, ExperimentClass::kParallel, ExperimentClass::kLibrary,
                                      ExperimentClass::kCpu, ExperimentClass::kPrefetch, ExperimentClass::kCampaign}) {
    std::vector<const Comparison*> members;
    for (const Comparison& comparison : result.comparisons) {
      if (comparison.experiment_class == experiment_class) members.push_back(&comparison);
    }
    if (!members.empty()) result.classes.push_back(summarise(experiment_class, members, options.tolerances));
  }
  return result;
}

}  // namespace uvmsim::validate
