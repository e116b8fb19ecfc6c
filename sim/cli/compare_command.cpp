// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>

#include <optional>

#include "sim/cli/result_output.h"
#include "sim/common/error.h"
#include "sim/compare/comparison.h"

namespace uvmsim::cli {
namespace {

constexpr const char* kCompareUsage = R"(uvmsim compare A B [options]

Says what changed from A to B: metric, both values, change in percent. A and B are files that `uvmsim run --json` wrote,
or sweeps. Runs with the same inputs are compared with each other. Where all runs of A and all runs of B differ in
exactly one input (the evict policy, one cost of the system, the trace), they are compared across it.

Examples:
  uvmsim compare before.jsonl after.jsonl
      the metrics that changed after an edit of a policy or of the model
  uvmsim compare sweep.dir sweep.dir --a evict=lrm --b evict=lru --metric settled_ns,evictions
      two policies of one sweep, at every other input of it
  uvmsim compare before.jsonl after.jsonl --metric settled_ns,evictions --tolerance settled_ns=1% --fail
      for CI: exit code 1 when something moved further than that

)";

constexpr const char* kCompareNotes = R"(
Metrics are total_ns, settled_ns, ideal_ns, settled_ideal_ns, footprint_bytes, capacity_bytes, every counter of the
result (sim/report/README.md), htod_bytes, dtoh_bytes, htod_transactions and dtoh_transactions (sums over causes), and of the
settled iteration settled_<counter>. Names may hold * and ?.
Keys of --a, --b and --across: trace, system, layout, osf, capacity_bytes, prefetch, prefetch.<parameter>, evict, plan,
migrate, seed, system.<key>, ... : what determined the runs, as --json names it.
Exit code: 0, with --fail 1 when a metric changed or a run is on one side only, 2 an error in the input.
)";

int compare_runs(const Values& values) {
  const Arguments& paths = values.arguments();
  if (paths.size() != 2) {
    throw_input_error("compare: two files of results or two sweeps are needed; `uvmsim compare --help` shows examples");
  }
  if (paths[0] == "-" && paths[1] == "-") throw_input_error("compare: only one of the two can be standard input");

  compare::CompareOptions choices;
  choices.across = values.listed("across");
  choices.metrics = values.listed("metric");
  choices.tolerances.add_all(values.texts("tolerance"), "--tolerance");
  const std::optional<std::string> json = values.text("json"), csv = values.text("csv");
  check_outputs({{"--json", json}, {"--csv", csv}});
  ResultOutput json_output(json), csv_output(csv);

  compare::RunSet a = compare::read_runs(paths[0]), b = compare::read_runs(paths[1]);
  for (const std::string& condition : values.texts("a")) compare::keep_runs(a, condition, "--a");
  for (const std::string& condition : values.texts("b")) compare::keep_runs(b, condition, "--b");
  const compare::Comparison comparison = compare::compare(a.runs, b.runs, choices);

  if (json != "-" && csv != "-") {
    const bool all = values.given("all") || !choices.metrics.empty();
    fmt::print("{}", compare::comparison_text(comparison, a, b, {all, !choices.tolerances.given().empty()}));
  }
  if (json) json_output.write(compare::comparison_json(comparison, a, b));
  if (csv) csv_output.write(compare::comparison_csv(comparison));
  const bool changed = comparison.differs() || !a.missing.empty() || !b.missing.empty();
  return values.given("fail") && changed ? 1 : 0;
}

}  // namespace

CommandLine compare_command() {
  return {.usage = kCompareUsage,
          .options = {{"metric", "NAME[,NAME...]", "only these metrics", kRepeatable},
                      {"all", "", "print every metric that changed, not only the main ones"},
                      {"a", "KEY=VALUE", "of A only the runs with this input; may be repeated", kRepeatable},
                      {"b", "KEY=VALUE", "of B only the runs with this input; may be repeated", kRepeatable},
                      {"across", "KEY[,KEY...]", "compare runs that differ in these inputs", kRepeatable},
                      {"tolerance", "[NAME=]TOLERANCE",
                       "what counts as no change: a share (0.5%), a number (100), with a unit where the metric has one "
                       "(5us); of all metrics, or of those that NAME matches; may be repeated",
                       kRepeatable},
                      {"fail", "", "exit with 1 when something changed"},
                      {"json", "FILE", "write the comparison as JSON; - is standard output"},
                      {"csv", "FILE", "write the comparison as CSV; - is standard output"},
                      kHelp},
          .notes = kCompareNotes,
          .most_arguments = 2,
          .run = compare_runs};
}

}  // namespace uvmsim::cli
