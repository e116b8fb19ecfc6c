#include "sim/scenario/run_scenario.h"

#include <algorithm>

#include "sim/common/error.h"
#include "sim/sweep/run_point.h"

namespace uvmsim::scenario {
namespace {

struct Prepared {
  report::RunRecord record;  // without its results
  ServerProgram program;
};

Prepared prepare(const ScenarioProgram& program, sweep::Resolver& resolver, const sweep::ReadProgress& progress) {
  const sweep::Point& point = program.point;
  Prepared prepared{resolver.resolve(point).record, {}};
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

report::RunRecord with_result(const Prepared& prepared, RunResult result) {
  report::RunRecord record = prepared.record;
  record.options.footprint_bytes = prepared.program.options.footprint_bytes;
  record.result = std::move(result);
  return record;
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

std::vector<ProgramOutcome> run_scenario(const Scenario& scenario, sweep::Resolver& resolver,
                                         const ScenarioChoices& choices) {
  std::vector<Prepared> prepared;
  for (const ScenarioProgram& program : scenario.programs) {
    prepared.push_back(prepare(program, resolver, choices.progress));
    prepared.back().program.options.harvest = scenario.harvest;
  }
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
  std::vector<RunResult> results = simulate_server(programs);

  std::vector<ProgramOutcome> outcomes;
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    outcomes.push_back({with_result(prepared[i], std::move(results[i])), std::nullopt});
    const std::uint64_t done = outcomes.back().together.result.iterations.size();
    const bool repeat = scenario.programs[i].repeat;
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
