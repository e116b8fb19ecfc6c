// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>

#include <optional>
#include <sstream>

#include "sim/cli/options.h"
#include "sim/cli/result_output.h"
#include "sim/cli/tolerance_options.h"
#include "sim/common/error.h"
#include "sim/compare/comparison_json.h"
#include "sim/compare/comparison_text.h"

namespace uvmsim::cli {
namespace {

namespace po = boost::program_options;

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

po::options_description compare_options() {
  using Text = std::string;
  using Texts = std::vector<std::string>;
  const auto texts = [](const char* name) { return po::value<Texts>()->composing()->value_name(name); };
  po::options_description options("Options", 110, 70);
  auto add = options.add_options();
  add("metric", texts("NAME[,NAME...]"), "only these metrics");
  add("all", po::bool_switch(), "print every metric that changed, not only the main ones");
  add("a", texts("KEY=VALUE"), "of A only the runs with this input; may be repeated");
  add("b", texts("KEY=VALUE"), "of B only the runs with this input; may be repeated");
  add("across", texts("KEY[,KEY...]"), "compare runs that differ in these inputs");
  add("tolerance", texts("[NAME=]TOLERANCE"),
      "what counts as no change: a share (0.5%), a number (100), with a unit where the metric has one (5us); "
      "of all metrics, or of those that NAME matches; may be repeated");
  add("fail", po::bool_switch(), "exit with 1 when something changed");
  add("json", po::value<Text>()->value_name("FILE"), "write the comparison as JSON; - is standard output");
  add("csv", po::value<Text>()->value_name("FILE"), "write the comparison as CSV; - is standard output");
  add("help,h", po::bool_switch(), "print this text");
  return options;
}

}  // namespace

int compare_command(const std::vector<std::string>& arguments) {
  const po::options_description options = compare_options();
  const po::variables_map values = parse_options("uvmsim compare", arguments, options, 2);
  if (values["help"].as<bool>()) {
    std::ostringstream text;
    text << options;
    fmt::print("{}{}{}", kCompareUsage, text.str(), kCompareNotes);
    return 0;
  }
  const std::vector<std::string> paths = positional_arguments(values);
  if (paths.size() != 2) {
    throw_input_error("compare: two files of results or two sweeps are needed; `uvmsim compare --help` shows examples");
  }
  if (paths[0] == "-" && paths[1] == "-") throw_input_error("compare: only one of the two can be standard input");

  compare::CompareOptions choices;
  choices.across = listed_texts(values, "across");
  choices.metrics = listed_texts(values, "metric");
  add_tolerances(choices.tolerances, texts_of(values, "tolerance"));
  const std::optional<std::string> json = text_of(values, "json"), csv = text_of(values, "csv");
  check_outputs({{"--json", json}, {"--csv", csv}});
  ResultOutput json_output(json), csv_output(csv);

  compare::RunSet a = compare::read_runs(paths[0]), b = compare::read_runs(paths[1]);
  for (const std::string& condition : texts_of(values, "a")) compare::keep_runs(a, condition, "--a");
  for (const std::string& condition : texts_of(values, "b")) compare::keep_runs(b, condition, "--b");
  const compare::Comparison comparison = compare::compare(a.runs, b.runs, choices);

  if (json != "-" && csv != "-") {
    const bool all = values["all"].as<bool>() || !choices.metrics.empty();
    fmt::print("{}", compare::comparison_text(comparison, a, b, {all, !choices.tolerances.given().empty()}));
  }
  if (json) json_output.write(compare::comparison_json(comparison, a, b));
  if (csv) csv_output.write(compare::comparison_csv(comparison));
  const bool changed = comparison.differs() || !a.missing.empty() || !b.missing.empty();
  return values["fail"].as<bool>() && changed ? 1 : 0;
}

}  // namespace uvmsim::cli
