// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/campaign_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "sim/common/units.h"
#include "sim/engine/simulation.h"
#include "sim/validate/campaign_program.h"

namespace uvmsim::validate {

namespace {

std::optional<Pair> steady_ns(const SteadySteps& steady, const std::vector<CampaignStep>& steps) {
  std::vector<std::uint64_t> measured, simulated;
  for (std::size_t i = steady.from; i < steps.size(); ++i) {
    simulated.push_back(*steps[i].simulated[figure::kTime]);
    if (steps[i].measured[figure::kTime]) measured.push_back(*steps[i].measured[figure::kTime]);
  }
  if (!steady.time_ns && measured.empty()) return std::nullopt;
  return Pair{steady.time_ns ? *steady.time_ns : median(measured), median(simulated)};
}

template <class CountersOf>
Figures mean_of(const std::vector<RunResult>& results, CountersOf&& counters_of) {
  Figures mean;
  for (const RunResult& result : results) {
    const Figures figures = figures_of(counters_of(result));
    for (std::size_t i = 0; i < figure::kCount; ++i) mean[i] = mean[i].value_or(0) + *figures[i];
  }
  for (auto& figure : mean) *figure /= results.size();
  return mean;
}

// Differences below one block do not matter.
bool moves_blocks(const CampaignStep& step) {
  for (const auto bytes : {figure::kBytesIn, figure::kBytesOut, figure::kBytesMoved}) {
    if (std::max(step.measured[bytes].value_or(0), *step.simulated[bytes]) >= kBlockBytes) return true;
  }
  return false;
}

const char* check_of(std::optional<std::uint64_t> CampaignLimits::*limit) {
  return std::ranges::find(kLimitTable, limit, &LimitInfo::limit)->check;
}

// `steps` is the number of steps that it sums up.
void judge_step(const CampaignStep& step, std::uint64_t steps, const CampaignLimits& limits, Verdict& verdict) {
  for (std::size_t i = 0; i < figure::kCount; ++i) {
    const std::optional<Pair> pair = step.pair(i);
    const auto limit = kFigureTable[i].limit;
    if (!pair || limit == nullptr || (step.lost_records && i != figure::kTime)) continue;
    if (limit == &CampaignLimits::copies_permille && !moves_blocks(step)) continue;
    verdict.within(check_of(limit), *pair, limits.*limit);
    if (limit == &CampaignLimits::bytes_permille && limits.bytes_blocks) {
      const std::uint64_t allowed = *limits.bytes_blocks * steps * kBlockBytes;
      if (pair->difference() > allowed) verdict.add("bytes", pair->error());
    }
  }
  const auto share = step.fault_share_permille();
  if (!share || step.lost_records || !limits.fault_share_permille) return;
  // The error of a share is the difference of the shares.
  const std::uint64_t difference = share->difference();
  if (difference > *limits.fault_share_permille) verdict.add("fault share", static_cast<double>(difference) / 10);
}

}  // namespace

std::optional<Pair> CampaignStep::pair(std::size_t figure) const {
  if (!measured[figure] || !simulated[figure]) return std::nullopt;
  return Pair{*measured[figure], *simulated[figure]};
}

std::optional<Pair> CampaignStep::fault_share_permille() const {
  const std::optional<Pair> by_fault = pair(figure::kFaultBytesIn), all = pair(figure::kBytesIn);
  if (!by_fault || !all || all->measured == 0 || all->simulated == 0) return std::nullopt;
  return Pair{by_fault->measured * 1000 / all->measured, by_fault->simulated * 1000 / all->simulated};
}

CampaignRun replay_campaign(const std::string& name, const Campaign& campaign, const config::SystemConfig& system) {
  RunOptions options;
  options.system = system;
  if (campaign.observed) options.system.listener.present = true;
  options.layout = "none";
  options.limited = campaign.capacity_bytes.has_value();
  options.capacity_bytes = campaign.capacity_bytes.value_or(0);
  if (!campaign.prefetch.empty()) options.prefetch.name = campaign.prefetch;
  if (campaign.prefetch_threshold) {
    options.prefetch.parameters.emplace_back("threshold", fmt::format("{}", *campaign.prefetch_threshold));
  }
  std::vector<CampaignProgram> programs;
  for (std::uint64_t i = 0; i < campaign.processes; ++i) programs.emplace_back(name, campaign, system.gpus.front());
  std::vector<ServerProgram> processes;
  for (CampaignProgram& program : programs) {
    ServerProgram& process = processes.emplace_back();
    process.name = fmt::format("{} {}", name, processes.size());
    process.header = program.header();
    process.source = [&program](trace::Record& record) { return program.next(record); };
    process.options = options;
    process.gpus = {0};
    if (campaign.processes == 1) continue;
    process.observer.reopen = [&] {
      const auto again = std::make_shared<CampaignProgram>(name, campaign, system.gpus.front());
      return [again](trace::Record& record) { return again->next(record); };
    };
  }
  const std::vector<RunResult> results = simulate_server(processes);
  const RunResult& result = results.front();
  CampaignRun run;
  run.processes = campaign.processes;
  run.footprint_blocks = (campaign.footprint_bytes() + kBlockBytes - 1) / kBlockBytes;
  run.capacity_blocks = result.capacity_bytes / kBlockBytes;
  for (std::size_t i = 0; i < result.iterations.size(); ++i) {
    CampaignStep& step = run.steps.emplace_back();
    step.name = programs.front().step_names().at(i);
    step.simulated =
        mean_of(results, [i](const RunResult& each) -> const Counters& { return each.iterations[i].counters; });
    if (i < campaign.published.size()) {
      step.measured = campaign.published[i].figures;
      step.lost_records = campaign.published[i].lost_records;
    }
  }
  const bool lost = std::ranges::any_of(run.steps, &CampaignStep::lost_records);
  run.total = {"total", campaign.published_total,
               mean_of(results, [](const RunResult& each) -> const Counters& { return each.counters; }), lost};
  if (campaign.finish_ns) {
    Nanoseconds end{};
    for (const RunResult& each : results) end = std::max(end, each.total);
    run.finish_ns = Pair{*campaign.finish_ns, static_cast<std::uint64_t>(end.value)};
  }
  if (campaign.steady) run.steady_ns = steady_ns(*campaign.steady, run.steps);
  return run;
}

void add_ratio(CampaignRun& run, const CampaignRun& cold) {
  const std::optional<Pair> first = cold.steps.front().pair(figure::kTime);
  if (!run.steady_ns || !first || first->measured == 0 || first->simulated == 0) return;
  const auto ratio = [&](std::uint64_t steady, std::uint64_t once) {
    return steady * cold.footprint_blocks * 1000 / (once * run.footprint_blocks);
  };
  run.ratio_permille =
      Pair{ratio(run.steady_ns->measured, first->measured), ratio(run.steady_ns->simulated, first->simulated)};
}

std::vector<Failure> judge_campaign(const Campaign& campaign, const CampaignRun& run) {
  Verdict verdict;
  for (const CampaignStep& step : run.steps) judge_step(step, 1, campaign.limits, verdict);
  judge_step(run.total, run.steps.size(), campaign.limits, verdict);
  if (run.steady_ns) {
    const SteadySteps& steady = *campaign.steady;
    const std::uint64_t simulated = run.steady_ns->simulated;
    const bool in_range =
        steady.least_ns && steady.most_ns && simulated >= *steady.least_ns && simulated <= *steady.most_ns;
    if (!in_range) verdict.within("time", *run.steady_ns, campaign.limits.time_permille);
  }
  if (run.finish_ns) verdict.within("finish", *run.finish_ns, campaign.limits.time_permille);
  if (run.ratio_permille) verdict.within("ratio", *run.ratio_permille, campaign.limits.ratio_permille);
  return verdict.take();
}

}  // namespace uvmsim::validate
