// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include "sim/cli/commands.h"
#include "sim/cli/result_output.h"
#include "sim/cli/run_options.h"
#include "sim/cli/scratch_folder.h"
#include "sim/cli/terminal.h"
#include "sim/cli/trace_llm.h"
#include "sim/cli/trace_runs.h"
#include "sim/common/error.h"
#include "sim/fit/fit.h"
#include "sim/formats/decimal.h"

namespace uvmsim::cli {
namespace {

constexpr const char* kFitUsage = R"(uvmsim fit TRACE|CONFIG.json --gpus SYSTEM[,SYSTEM...] [options]

Says of each machine whether a program fits its GPU, how slow it is where it does not, how sure that is, and how much
memory it takes to stay within a budget.

Examples:
  uvmsim fit workloads/gpt2.uvmt --gpus rtx4090-pcie4,a100-pcie-80g,h200-sxm-pcie5
      which of three cards is enough, and where it becomes too slow
  uvmsim fit workloads/gpt2.uvmt --gpus rtx3060-pcie4,t4-pcie3 --budget 1.5x --json fit.json
      with at most one and a half times the time, for a script
  uvmsim fit configs/models/llama3_8b.json --gpus rtx4090-pcie4,h100-sxm
      a model that nobody recorded, from its config.json (docs/language_models.md)

)";

constexpr const char* kFitNotes = R"(
The driver's own policies run, on one GPU of each system. "factor" is footprint / memory for managed data. A slowdown is
against the same machine with room for all. Times of kernels come from the recording: for another GPU they are scaled by
a roofline (--time-scale); the lines below the table say so. "range": the same with driver costs, link and host as fast
and as slow as such machines differ (`uvmsim run --uncertainty`).
"largest factor" is found by runs with less and less memory: up to it a program like this one stays within the budget.
"link x2" and "memory x2" are runs with that alone changed: a link twice as fast, and as much memory as two GPUs have
(on one of them: work is not divided).
`python3 -m analysis.plot_fit FIT.json -o FIGURE` draws the JSON file.
)";

constexpr std::uint64_t kMostBudget = 1'000'000;  // thousandths

// Reads a budget in thousandths: "2x", "1.5"
std::uint64_t budget_of(const Values& values) {
  const std::string text = values.text("budget").value_or("2x");
  const std::string_view digits =
      text.ends_with('x') ? std::string_view(text).substr(0, text.size() - 1) : std::string_view(text);
  const auto thousandths = parse_decimal(digits, 3, kMostBudget);
  if (!thousandths || *thousandths < 1000) {
    throw_input_error("--budget: '{}' is no slowdown; allowed: 1x to 1000x, such as 1.5x", text);
  }
  return *thousandths;
}

int fit_systems(const Values& values) {
  RunArguments run;
  run.shared.trace =
      values.first("no trace given; `uvmsim fit TRACE --gpus a100-pcie-80g,...`, `uvmsim fit --help` shows examples");
  const ScratchFolder scratch("fit");
  if (is_model_config(run.shared.trace)) run.shared.trace = trace_of_config(run.shared.trace, scratch);
  if (run.shared.trace == "-") throw_input_error("standard input cannot be read for each system; give a file");
  fit::Request request;
  request.systems = values.listed("gpus");
  if (request.systems.empty()) throw_input_error("fit: option --gpus is missing; `uvmsim systems` lists what it takes");
  request.budget_thousandths = budget_of(values);
  read_replay_options(values, run);
  run.shared.system = request.systems.front();
  request.program = run.shared;
  run.verbose = values.given("verbose");
  ResultOutput json(values.text("json"));
  TraceRuns runs(run);
  runs.measure();
  const fit::Compute compute = [&](const std::string& step, const std::vector<sweep::PointToRun>& points) {
    return runs.compute(sweep::run_points, step, points);
  };
  const fit::Answer answer = fit::fit(request, runs.resolver(), compute);
  if (json.wanted()) {
    json.add(fit::fit_json(answer));
    json.finish();
  }
  if (values.text("json") != "-") fmt::print("{}", with_headline(STDOUT_FILENO, fit::fit_text(answer)));
  return 0;
}

std::vector<Option> fit_options() {
  std::vector<Option> options = {
      {"gpus", "SYSTEM[,SYSTEM...]", "the machines: names or files (`uvmsim systems`); may be repeated", kRepeatable},
      {"budget", "FACTOR", "the largest slowdown that is acceptable, default 2x"}};
  for (const Option& option : replay_options()) options.push_back(option);
  options.push_back({"json", "FILE", "write the answer as JSON; - is standard output"});
  options.push_back(kVerbose);
  options.push_back(kHelp);
  return options;
}

}  // namespace

CommandLine fit_command() {
  return {.usage = kFitUsage, .options = fit_options(), .notes = kFitNotes, .most_arguments = 1, .run = fit_systems};
}

}  // namespace uvmsim::cli
