// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "sim/cli/commands.h"
#include "sim/cli/result_output.h"
#include "sim/cli/run_options.h"
#include "sim/cli/scratch_folder.h"
#include "sim/cli/terminal.h"
#include "sim/cli/trace_runs.h"
#include "sim/common/error.h"
#include "sim/report/profile.h"
#include "sim/why/why.h"

namespace uvmsim::cli {
namespace {

constexpr const char* kWhyUsage = R"(uvmsim why TRACE --system SYSTEM --osf X [options]

Explains on one screen why a run is slow: which kernels wait, for which memory and for which cause, what limits the
run, and how much other policies could save.

Examples:
  uvmsim why workloads/gpt2.uvmt --system h200-sxm-pcie5 --osf 1.5
      why GPT-2 is slower with two thirds of the memory that it needs
  uvmsim why workloads/alexnet.uvmt --system a100-pcie-80g --capacity-bytes 2GiB --json why.json
      the same for a script

)";

constexpr const char* kWhyNotes = R"(
Sums are of an iteration, the mean of those that `uvmsim run` quotes. Waiting is a kernel's time beyond the time that it
takes with everything resident; kernels that run side by side wait side by side. A wait is shared among causes by pages.
"of it back": the part of the fetched memory that was evicted from the GPU before. Tensors of one name are one row.
What policies could save: MIN tells the evictor which memory of the coming kernels is used last (evict min_kernel); the
planner `conservative` also fetches ahead. Both know the future, and no driver does.
`uvmsim run --profile FILE` keeps all of it, `uvmsim report FILE` draws it.
)";

std::vector<std::pair<std::string, sweep::Point>> alternatives_of(const sweep::Point& point) {
  sweep::Point min = point, ahead = point;
  min.evict = {"min_kernel", {}};
  ahead.plan = {"conservative", {}};
  return {{"evict min_kernel, which knows the future", min}, {"plan conservative, which knows the future", ahead}};
}

int explain(const Values& values) {
  const std::string trace = values.first(
      "why: no trace given; `uvmsim why TRACE --system SYSTEM --osf X`, `uvmsim why --help` shows examples");
  RunArguments run = read_program_options("why", values);
  run.shared.trace = trace;
  run.verbose = values.given("verbose");
  if (run.osf_thousandths.size() > 1) {
    throw_input_error("why is about one run; give one --osf, not {}", run.osf_thousandths.size());
  }
  if (run.seeds > 1) throw_input_error("why is about one run; give --seed, not --seeds");
  ResultOutput json(values.text("json"));
  TraceRuns runs(run);
  runs.measure();

  sweep::Point point = points_of(run).front();
  const sweep::Point baseline = runs.fitting_baseline(point);
  const bool is_baseline = runs.resolve(point).id == runs.resolve(baseline).id;
  const auto alternatives = is_baseline ? std::vector<std::pair<std::string, sweep::Point>>{} : alternatives_of(point);
  point.bounds = true;
  const ScratchFolder scratch("why");
  const std::string profile_path = scratch.file("profile.sqlite");
  report::Profile profile(profile_path);
  std::vector<sweep::PointToRun> points{{runs.resolve(point), &profile}};
  if (!is_baseline) points.push_back({runs.resolve(baseline), nullptr});
  for (const auto& [what, alternative] : alternatives) points.push_back({runs.resolve(alternative), nullptr});
  std::vector<report::RunRecord> records = runs.compute(sweep::run_points, "this run and others beside it", points);
  report::require_touches(records.front());
  records.front().unlimited = report::as_unlimited(is_baseline ? records[0] : records[1]);
  profile.finish(records.front());

  why::Answer answer = why::read_waits(profile_path, std::move(records.front()));
  if (answer.run.bounds) answer.bound_ns = static_cast<std::uint64_t>(answer.run.bounds->bounds.time.best().value);
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    const report::RunRecord& record = records[2 + i];
    const auto settled = report::settled_iterations(record.result);
    answer.alternatives.push_back(
        {alternatives[i].first, report::quoted_ns(record.result), !settled || settled->is_settled});
  }
  if (json.wanted()) json.write(why::why_json(answer));
  if (values.text("json") != "-") fmt::print("{}", with_headline(STDOUT_FILENO, why::why_text(answer)));
  return 0;
}

std::vector<Option> why_options() {
  std::vector<Option> options = cli::program_options();
  options.push_back({"json", "FILE", "write the answer as JSON; - is standard output"});
  options.push_back(kVerbose);
  options.push_back(kHelp);
  return options;
}

}  // namespace

CommandLine why_command() {
  return {.usage = kWhyUsage, .options = why_options(), .notes = kWhyNotes, .most_arguments = 1, .run = explain};
}

}  // namespace uvmsim::cli
