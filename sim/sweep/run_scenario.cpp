// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/run_scenario.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/common/error.h"
#include "sim/common/version.h"
#include "sim/engine/capacity.h"
#include "sim/engine/record_feed.h"
#include "sim/memory/processor.h"
#include "sim/report/numbers.h"
#include "sim/report/result_json.h"
#include "sim/sweep/run_point.h"

namespace uvmsim::scenario {
namespace {

// Prepares the record, without results.
report::RunRecord prepare(const ScenarioProgram& program, const HarvestChoice& harvest, sweep::Resolver& resolver,
                          const sweep::ReadProgress& progress) {
  const sweep::Point& point = program.point;
  const sweep::ResolvedPoint resolved = resolver.resolve(point);
  report::RunRecord record = resolved.record;
  sweep::TraceInput& input = resolver.trace(point);
  RunOptions& options = record.options;
  options.harvest = harvest;
  options.footprint_bytes = sweep::divided_footprint_bytes(resolved, input, progress);
  if (point.touched_footprint) record.touched_footprint_bytes = options.footprint_bytes;
  if (point.osf_thousandths != 0) {
    sweep::check_factor(point.osf_thousandths, options.footprint_bytes, "osf of '" + program.name + "'", input.name());
  }
  record.header = input.header();
  return record;
}

// Describes the program to the server, for both the run together and the run alone.
ServerProgram server_program(const ScenarioProgram& program, const report::RunRecord& record, sweep::TraceInput& input,
                             const sweep::ReadProgress& progress) {
  ServerProgram out;
  out.name = program.name;
  out.header = record.header;
  out.source = input.play(progress);
  out.options = record.options;
  out.gpus = program.gpus;
  out.observer.reopen = [&input] { return input.play({}); };
  return out;
}

report::RunRecord with_result(report::RunRecord record, RunResult result) {
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

// Gives the programs that share GPUs the scenario's memory limit. With several shared GPUs, the one whose programs need
// most determines it.
void limit_shared_gpus(const Scenario& scenario, std::vector<report::RunRecord>& records) {
  const sweep::Limit& limit = scenario.shared_limit;
  std::uint64_t footprint = 0;
  std::vector<bool> shares(records.size());
  for (unsigned gpu = 0; gpu < kMaxGpus; ++gpu) {
    const std::vector<std::size_t> programs = programs_on(scenario, gpu);
    if (programs.size() < 2) continue;
    std::uint64_t sum = 0;
    for (const std::size_t i : programs) {
      shares[i] = true;
      sum += std::min(UINT64_MAX - sum, records[i].options.footprint_bytes);
    }
    footprint = std::max(footprint, sum);
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!shares[i] || !records[i].options.limited) continue;
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
    capacity = engine::factor_capacity_bytes(footprint, limit.osf_thousandths);
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!shares[i]) continue;
    records[i].options.limited = true;
    records[i].options.capacity_bytes = capacity;
  }
}

// The recorded kernel time of the program's busiest stream on each device of its trace: a lower bound on the time that
// the GPU computes for it.
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

// Removes the last iteration. A repeated program is cut off within it; the run alone drops it too, because an iteration
// that ends its program also waits for all work that is still running.
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
  if (!outcome.alone || outcome.together.result.touches_nothing()) return 0;
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
  std::vector<report::RunRecord> records;
  for (const ScenarioProgram& program : scenario.programs) {
    records.push_back(prepare(program, scenario.harvest, resolver, choices.progress));
  }
  limit_shared_gpus(scenario, records);
  const auto program_of = [&](std::size_t i) {
    const ScenarioProgram& described = scenario.programs[i];
    return server_program(described, records[i], resolver.trace(described.point), choices.progress);
  };
  std::vector<ServerProgram> programs;
  for (std::size_t i = 0; i < records.size(); ++i) {
    ServerProgram& program = programs.emplace_back(program_of(i));
    program.start = scenario.programs[i].start;
    program.repeat = scenario.programs[i].repeat;
    if (choices.events) program.observer.events = choices.events(i);
  }
  std::vector<RunResult> results = simulate_server(programs, scenario.sharing);

  std::vector<ProgramOutcome> outcomes;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const ScenarioProgram& described = scenario.programs[i];
    ProgramOutcome& outcome =
        outcomes.emplace_back(ProgramOutcome{with_result(records[i], std::move(results[i])), std::nullopt, {}});
    const std::uint64_t done = outcome.together.result.iterations.size();
    if (!described.repeat) {
      outcome.busiest_streams = busiest_streams(records[i].header, resolver.trace(described.point).play({}),
                                                records[i].options, described.gpus);
    }
    if (!choices.alone || (described.repeat && done == 0)) continue;
    ServerProgram program = program_of(i);
    if (described.repeat) program.options.iterations = done + 1;
    outcome.alone = with_result(records[i], std::move(simulate_server({&program, 1}).front()));
    if (described.repeat) leave_out_last(outcome.alone->result);
    outcome.alone->options.iterations = program.options.iterations;
  }
  return outcomes;
}

namespace {

using Json = nlohmann::ordered_json;

// The result as `uvmsim run` writes it, without the system, which the scenario has.
Json result_of(const report::RunRecord& record) {
  Json result = Json::parse(report::result_json(record));
  result.erase("system");
  return result;
}

// The number of its evictions by the program that lost memory; null where it shares no GPU.
Json evicted_from(const Scenario& scenario, const RunResult& result) {
  if (result.evicted_from.empty()) return nullptr;
  Json out = Json::object();
  for (std::size_t i = 0; i < scenario.programs.size(); ++i) out[scenario.programs[i].name] = result.evicted_from[i];
  return out;
}

}  // namespace

std::string scenario_json(const Scenario& scenario, const std::vector<ProgramOutcome>& outcomes) {
  Json out = {{"schema", "uvmsim.scenario/1"},
              {"uvmsim_version", version()},
              {"description", scenario.description},
              {"harvest", harvest_json(scenario.harvest)},
              {"sharing", sharing_name(scenario.sharing)},
              {"programs", Json::array()}};
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const ScenarioProgram& program = scenario.programs[i];
    const ProgramOutcome& outcome = outcomes[i];
    Json entry = {
        {"name", program.name},
        {"gpus", program.gpus},
        {"start_ns", program.start.value},
        {"repeat", program.repeat},
        {"compared", report::settled_iterations(outcome.together.result) ? "settled iterations" : "whole run"},
        {"together_ns", compared_time(outcome.together).value},
        {"alone_ns", outcome.alone ? Json(compared_time(*outcome.alone).value) : Json(nullptr)},
        {"slowdown_thousandths", outcome.alone ? Json(slowdown_thousandths(outcome)) : Json(nullptr)},
        {"evicted_from", evicted_from(scenario, outcome.together.result)},
        {"together", result_of(outcome.together)},
        {"alone", outcome.alone ? result_of(*outcome.alone) : Json(nullptr)}};
    out["programs"].push_back(std::move(entry));
  }
  const Ends ends = ends_of(scenario, outcomes);
  out["last_end_ns"] = ends.last.value;
  out["last_end_bound_ns"] = ends.bound.value;
  const std::optional<Fairness> fair = fairness(outcomes);
  out["unfairness_thousandths"] = fair ? Json(fair->unfairness_thousandths) : Json(nullptr);
  out["weighted_speedup_thousandths"] = fair ? Json(fair->weighted_speedup_thousandths) : Json(nullptr);
  out["system"] = Json::parse(outcomes.front().together.system_json);
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace uvmsim::scenario
