// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/run_scenario.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/common/error.h"
#include "sim/engine/capacity.h"
#include "sim/engine/record_feed.h"
#include "sim/memory/processor.h"
#include "sim/report/numbers.h"
#include "sim/sweep/run_point.h"

namespace uvmsim::scenario {
namespace {

struct PreparedProgram {
  report::RunRecord record;  // without its results
  ServerProgram program;
};

PreparedProgram prepare(const ScenarioProgram& program, sweep::Resolver& resolver,
                        const sweep::ReadProgress& progress) {
  const sweep::Point& point = program.point;
  PreparedProgram prepared{resolver.resolve(point).record, {}};
  sweep::TraceInput& input = resolver.trace(point);
  RunOptions& options = prepared.record.options;
  options.footprint_bytes = sweep::divided_footprint_bytes(point, options.layout, input, progress);
  if (point.touched_footprint) prepared.record.touched_footprint_bytes = options.footprint_bytes;
  if (point.osf_thousandths != 0) {
    sweep::check_factor(point.osf_thousandths, options.footprint_bytes, "osf of '" + program.name + "'", input.name());
  }
  prepared.record.header = input.header();
  prepared.program.name = program.name;
  prepared.program.header = input.header();
  prepared.program.options = options;
  prepared.program.gpus = program.gpus;
  prepared.program.observer.reopen = [&input] { return input.play({}); };
  return prepared;
}

report::RunRecord with_result(const PreparedProgram& prepared, RunResult result) {
  report::RunRecord record = prepared.record;
  record.options.footprint_bytes = prepared.program.options.footprint_bytes;
  record.result = std::move(result);
  return record;
}

std::vector<std::size_t> programs_on(const Scenario& scenario, unsigned gpu) {
  std::vector<std::size_t> programs;
  for (std::size_t i = 0; i < scenario.programs.size(); ++i) {
    const std::vector<unsigned>& gpus = scenario.programs[i].gpus;
    if (std::find(gpus.begin(), gpus.end(), gpu) != gpus.end()) programs.push_back(i);
  }
  return programs;
}

// Gives the programs that share GPUs the memory that the scenario says; of several shared GPUs, by the one whose
// programs need most.
void limit_shared_gpus(const Scenario& scenario, std::vector<PreparedProgram>& prepared) {
  const sweep::Limit& limit = scenario.shared_limit;
  std::uint64_t footprint = 0;
  std::vector<bool> shares(prepared.size());
  for (unsigned gpu = 0; gpu < kMaxGpus; ++gpu) {
    const std::vector<std::size_t> programs = programs_on(scenario, gpu);
    if (programs.size() < 2) continue;
    std::uint64_t sum = 0;
    for (const std::size_t i : programs) {
      shares[i] = true;
      sum += std::min(UINT64_MAX - sum, prepared[i].program.options.footprint_bytes);
    }
    footprint = std::max(footprint, sum);
  }
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    if (!shares[i] || !prepared[i].program.options.limited) continue;
    throw_input_error(
        "{}: program '{}' has a limit of its own and shares a GPU; allowed: shared_osf or shared_capacity_bytes for "
        "all",
        scenario.file, scenario.programs[i].name);
  }
  if (scenario.schedules && footprint == 0) {
    throw_input_error("{}: a schedule policy is there, and no two programs name the same GPU", scenario.file);
  }
  if (limit.osf_thousandths == 0 && limit.capacity_bytes == 0) return;
  if (footprint == 0) {
    throw_input_error("{}: shared_osf or shared_capacity_bytes is there, and no two programs name the same GPU",
                      scenario.file);
  }
  std::uint64_t capacity = limit.capacity_bytes;
  if (limit.osf_thousandths != 0) {
    sweep::check_factor(limit.osf_thousandths, footprint, "shared_osf", scenario.file);
    capacity = engine::factor_capacity_bytes(footprint, limit.osf_thousandths, prepared.front().program.options.system);
  }
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    if (!shares[i]) continue;
    RunOptions& options = prepared[i].program.options;
    options.limited = true;
    options.capacity_bytes = capacity;
    prepared[i].record.options.limited = true;
    prepared[i].record.options.capacity_bytes = capacity;
  }
}

// Of one program: the recorded kernel time of its busiest stream, by device of its trace. The GPU computes for it so
// long at least.
std::vector<Nanoseconds> busiest_streams(const trace::Header& header, const RecordSource& source,
                                         const RunOptions& options, const std::vector<unsigned>& gpus) {
  engine::RecordFeed feed(header, source, options, gpus.front());
  std::map<std::pair<std::int32_t, std::uint32_t>, Nanoseconds> streams;
  trace::Record record;
  while (feed.next(record)) {
    const auto* kernel = std::get_if<trace::Kernel>(&record);
    if (kernel == nullptr || kernel->duration_ns <= 0) continue;
    streams[{kernel->device, kernel->stream}] += Nanoseconds(kernel->duration_ns);
  }
  std::vector<Nanoseconds> busiest(gpus.size());
  for (const auto& [stream, time] : streams) {
    Nanoseconds& most = busiest.at(static_cast<std::size_t>(stream.first));
    most = std::max(most, time);
  }
  return busiest;
}

// A repeated program is cut off within an iteration. So is the one it is compared with: an iteration that ends its
// program also waits for all that is still running.
void leave_out_last(RunResult& result) {
  result.iterations.pop_back();
  result.repeated = result.iterations.size() - std::min(result.iterations.size(), result.first_repeated);
}

}  // namespace

Nanoseconds compared_time(const report::RunRecord& record) {
  const auto settled = report::settled_iterations(record.result);
  return settled ? settled->duration : record.result.total;
}

std::uint64_t slowdown_thousandths(const ProgramOutcome& outcome) {
  if (!outcome.alone) return 0;
  return report::times_thousandths(compared_time(outcome.together), compared_time(*outcome.alone));
}

std::optional<Fairness> fairness(const std::vector<ProgramOutcome>& outcomes) {
  std::uint64_t least = UINT64_MAX, most = 0;
  Fairness result;
  for (const ProgramOutcome& outcome : outcomes) {
    const std::uint64_t slowdown = slowdown_thousandths(outcome);
    if (slowdown == 0) return std::nullopt;
    least = std::min(least, slowdown);
    most = std::max(most, slowdown);
    result.weighted_speedup_thousandths +=
        report::times_thousandths(compared_time(*outcome.alone), compared_time(outcome.together));
  }
  result.unfairness_thousandths = report::ratio_thousandths(most, least);
  return result;
}

Ends ends_of(const Scenario& scenario, const std::vector<ProgramOutcome>& outcomes) {
  Ends ends;
  struct OnGpu {
    Nanoseconds first{INT64_MAX}, computing{};
  };
  std::vector<OnGpu> gpus(kMaxGpus);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const ScenarioProgram& program = scenario.programs[i];
    if (program.repeat) continue;
    const RunResult& result = outcomes[i].together.result;
    ends.last = std::max(ends.last, program.start + result.total);
    ends.bound = std::max(ends.bound, program.start + result.ideal);
    if (scenario.sharing == GpuSharing::kConcurrent) continue;
    for (std::size_t device = 0; device < program.gpus.size(); ++device) {
      OnGpu& gpu = gpus[program.gpus[device]];
      gpu.first = std::min(gpu.first, program.start);
      gpu.computing += outcomes[i].busiest_streams[device];
    }
  }
  for (const OnGpu& gpu : gpus) {
    if (gpu.computing > Nanoseconds{}) ends.bound = std::max(ends.bound, gpu.first + gpu.computing);
  }
  return ends;
}

std::vector<ProgramOutcome> run_scenario(const Scenario& scenario, sweep::Resolver& resolver,
                                         const ScenarioChoices& choices) {
  std::vector<PreparedProgram> prepared;
  for (const ScenarioProgram& program : scenario.programs) {
    prepared.push_back(prepare(program, resolver, choices.progress));
    prepared.back().program.options.harvest = scenario.harvest;
  }
  limit_shared_gpus(scenario, prepared);
  std::vector<ServerProgram> programs;
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    const ScenarioProgram& described = scenario.programs[i];
    ServerProgram program = prepared[i].program;
    program.source = resolver.trace(described.point).play(choices.progress);
    program.start = described.start;
    program.repeat = described.repeat;
    if (choices.events) program.observer.events = choices.events(i);
    programs.push_back(std::move(program));
  }
  std::vector<RunResult> results = simulate_server(programs, scenario.sharing);

  std::vector<ProgramOutcome> outcomes;
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    outcomes.push_back({with_result(prepared[i], std::move(results[i])), std::nullopt, {}});
    const std::uint64_t done = outcomes.back().together.result.iterations.size();
    const bool repeat = scenario.programs[i].repeat;
    if (!repeat) {
      const ServerProgram& program = prepared[i].program;
      outcomes.back().busiest_streams = busiest_streams(
          program.header, resolver.trace(scenario.programs[i].point).play({}), program.options, program.gpus);
    }
    if (!choices.alone || (repeat && done == 0)) continue;
    ServerProgram program = prepared[i].program;
    program.source = resolver.trace(scenario.programs[i].point).play(choices.progress);
    if (repeat) program.options.iterations = done + 1;
    report::RunRecord alone = with_result(prepared[i], std::move(simulate_server({&program, 1}).front()));
    if (repeat) leave_out_last(alone.result);
    alone.options.iterations = program.options.iterations;
    outcomes.back().alone = std::move(alone);
  }
  return outcomes;
}

}  // namespace uvmsim::scenario
