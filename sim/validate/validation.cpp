// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "sim/common/error.h"
#include "sim/common/wildcard.h"
#include "sim/validate/experiment_program.h"
#include "sim/validate/observation.h"

namespace uvmsim::validate {

namespace {

// Returns the spread of one error over the experiments of a class.
template <class Error>
Spread spread(const std::vector<const Comparison*>& members, Error error) {
  Spread result;
  result.worst = -1;
  std::vector<double> values;
  for (const Comparison* member : members) {
    values.push_back(error(*member));
    if (values.back() <= result.worst) continue;
    result.worst = values.back();
    result.worst_name = member->name;
  }
  result.median = median(std::move(values));
  return result;
}

// Judges the medians of a class, by one of its times.
std::vector<Failure> judge_medians(const ClassSummary& summary, const Spread& time, const Tolerances& allowed) {
  Verdict verdict;
  const auto judge = [&](const char* what, const Spread& spread, double limit) {
    if (spread.median > limit) verdict.add(what, spread.median);
  };
  switch (summary.experiment_class) {
    case ExperimentClass::kOrdered:
      judge("median time", time, allowed.ordered_time_median);
      break;
    case ExperimentClass::kParallel:
      judge("median time", time, allowed.parallel_time_median);
      break;
    case ExperimentClass::kLibrary:
      judge("median batches", summary.batches, allowed.library_batches_median);
      judge("median time", time, allowed.library_time_median);
      break;
    case ExperimentClass::kRemote:
      judge("median remote bytes", summary.bytes, allowed.remote_bytes_median);
      judge("median time", time, allowed.remote_time_median);
      break;
    case ExperimentClass::kCpu:
    case ExperimentClass::kPrefetch:
    case ExperimentClass::kCampaign:
      break;
  }
  return verdict.take();
}

ClassSummary summarise(ExperimentClass experiment_class, const std::vector<const Comparison*>& members,
                       const Tolerances& allowed) {
  ClassSummary summary;
  summary.experiment_class = experiment_class;
  summary.experiments = members.size();
  for (const Comparison* member : members) {
    summary.exact += member->has_contents && member->exact() ? 1 : 0;
    ++summary.by_basis[static_cast<std::size_t>(member->basis)];
    if (!member->judged()) continue;
    ++summary.judged;
    summary.within += member->failures.empty() ? 1 : 0;
    summary.quiet_within += member->quiet_failures.empty() ? 1 : 0;
  }
  summary.time = spread(members, [](const Comparison& c) { return c.time_ns.error(); });
  summary.quiet = spread(members, [](const Comparison& c) { return c.quiet_ns.error(); });
  std::vector<const Comparison*> with_contents;
  std::ranges::copy_if(members, std::back_inserter(with_contents), &Comparison::has_contents);
  summary.batches = spread(with_contents, [](const Comparison& c) { return c.batches.error(); });
  summary.bytes = spread(with_contents, [](const Comparison& c) {
    return std::max({c.htod_bytes.error(), c.dtoh_bytes.error(), c.dtod_bytes.error(), c.remote_bytes.error()});
  });
  summary.failures = judge_medians(summary, summary.time, allowed);
  summary.quiet_failures = judge_medians(summary, summary.quiet, allowed);
  return summary;
}

Comparison replay(const Experiment& experiment, const std::string& path, const config::SystemConfig& system,
                  const ValidationOptions& options) {
  return naming(path, experiment, [&] {
    if (experiment.campaign) {
      return compare_campaign(experiment, replay_campaign(experiment.name, *experiment.campaign, system));
    }
    const TimeBasis basis = time_basis(experiment, options.observed);
    const config::SystemConfig judged = judged_system(system, basis);
    const Program program = make_program(experiment, judged);
    const bool page_order = experiment.raw && !experiment.raw->page_order.empty();
    return compare(experiment, observe_measured(experiment), observe_simulated(program, judged, page_order), judged,
                   basis, options.tolerances);
  });
}

// Campaigns are judged when all have run, as a cold step may belong to another experiment, unless --only left it out.
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
  return std::ranges::all_of(comparisons, &Comparison::within) &&
         std::ranges::all_of(classes, [](const ClassSummary& summary) { return summary.failures.empty(); });
}

Validation validate(const std::vector<ExperimentFile>& files, const config::SystemConfig& system,
                    const ValidationOptions& options) {
  Validation result;
  std::vector<std::pair<const Experiment*, const ExperimentFile*>> chosen;
  for (const ExperimentFile& file : files) {
    result.files.push_back(file.path);
    result.warnings.insert(result.warnings.end(), file.warnings.begin(), file.warnings.end());
    for (const Experiment& experiment : file.experiments) {
      if (!matches(options.only, experiment.name)) continue;
      if (options.observed && !experiment.has_contents) {
        result.warnings.push_back(fmt::format("{}: line {}: experiment '{}' left out: it has no observed run",
                                              file.path, experiment.line, experiment.name));
        continue;
      }
      chosen.emplace_back(&experiment, &file);
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
    result.comparisons[i] = replay(*chosen[i].first, chosen[i].second->path, system, options);
  });
  judge_campaigns(chosen, result.comparisons);
  for (std::size_t i = 0; i < kClassNames.size(); ++i) {
    const auto experiment_class = static_cast<ExperimentClass>(i);
    std::vector<const Comparison*> members;
    for (const Comparison& comparison : result.comparisons) {
      if (comparison.experiment_class == experiment_class) members.push_back(&comparison);
    }
    if (!members.empty()) result.classes.push_back(summarise(experiment_class, members, options.tolerances));
  }
  return result;
}

}  // namespace uvmsim::validate
