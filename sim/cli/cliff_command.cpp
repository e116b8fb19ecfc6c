// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include "sim/cli/commands.h"
#include "sim/cli/result_output.h"
#include "sim/cli/run_options.h"
#include "sim/cli/scratch_folder.h"
#include "sim/cli/terminal.h"
#include "sim/cli/trace_runs.h"
#include "sim/cliff/cliff.h"
#include "sim/common/error.h"
#include "sim/formats/decimal.h"

namespace uvmsim::cli {
namespace {

constexpr const char* kCliffUsage = R"(uvmsim cliff TRACE --system SYSTEM [options]

Finds the oversubscription factor at which a program suddenly gets slow: where its time rises most per byte of GPU
memory that is taken away. Prints which kernels wait from there on, for which memory, and why.

Examples:
  uvmsim cliff workloads/alexnet.uvmt --system h200-sxm-pcie5
      how much of AlexNet's memory may be missing before a training step gets slow
  uvmsim cliff workloads/gpt2.uvmt --system a100-pcie-80g --evict lru --to 2 --json cliff.json
      under another policy, up to half of the memory, for a script

)";

constexpr const char* kCliffNotes = R"(
The program runs with nine equal steps less memory, from all that it needs to that / the largest factor; the steepest
step is divided again and again, until it is 1/200 of the footprint. "came back": memory that is fetched again after
it was evicted from the GPU. Waits are summed as by `uvmsim why`, which explains one factor.
Every time is that of one run; `uvmsim run --capacity-bytes N` prints the same.
)";

constexpr std::uint64_t kMostFactor = 100'000;  // thousandths

std::uint64_t largest_factor_of(const Values& values) {
  const std::string text = values.text("to").value_or("4");
  const auto thousandths = parse_decimal(text, 3, kMostFactor);
  if (!thousandths || *thousandths <= 1000) {
    throw_input_error("--to: '{}' is no factor beyond memory; allowed: more than 1, up to 100, such as 2.5", text);
  }
  return *thousandths;
}

int find(const Values& values) {
  const std::string trace =
      values.first("cliff: no trace given; `uvmsim cliff TRACE --system SYSTEM`, `uvmsim cliff --help` shows examples");
  RunArguments run = read_program_options("cliff", values);
  read_policies(values, run);
  run.shared.trace = trace;
  run.verbose = values.given("verbose");
  cliff::Request request;
  request.program = run.shared;
  request.largest_osf_thousandths = largest_factor_of(values);
  ResultOutput json(values.text("json"));
  TraceRuns runs(run);
  runs.measure();
  const ScratchFolder scratch("cliff");
  const cliff::Compute compute = [&](const std::string& step, const std::vector<sweep::PointToRun>& points) {
    return runs.compute(sweep::run_points, step, points);
  };
  const cliff::Answer answer =
      cliff::find_cliff(request, runs.resolver(), compute, [&](const std::string& name) { return scratch.file(name); });
  if (json.wanted()) json.write(cliff::cliff_json(answer));
  if (values.text("json") != "-") fmt::print("{}", with_headline(STDOUT_FILENO, cliff::cliff_text(answer)));
  return 0;
}

std::vector<Option> cliff_options() {
  std::vector<Option> options;
  for (const Option& option : program_options()) {
    if (option.name == "system" || option.name == "plugin") options.push_back(option);
  }
  for (const std::vector<Option>& more : {policy_options(), replay_options()}) {
    options.insert(options.end(), more.begin(), more.end());
  }
  options.push_back({"to", "FACTOR", "the largest factor (footprint / memory) that is tried, default 4"});
  options.push_back({"json", "FILE", "write the answer as JSON; - is standard output"});
  options.push_back(kVerbose);
  options.push_back(kHelp);
  return options;
}

}  // namespace

CommandLine cliff_command() {
  return {.usage = kCliffUsage, .options = cliff_options(), .notes = kCliffNotes, .most_arguments = 1, .run = find};
}

}  // namespace uvmsim::cli
