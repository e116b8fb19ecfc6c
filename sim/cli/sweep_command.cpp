// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/cli/exit_codes.h"
#include "sim/cli/options.h"
#include "sim/cli/sweep_work.h"
#include "sim/cli/values.h"
#include "sim/common/error.h"
#include "sim/formats/text_table.h"
#include "sim/report/numbers.h"
#include "sim/sweep/collect.h"
#include "sim/sweep/cost_guess.h"
#include "sim/sweep/plan.h"
#include "sim/sweep/point_files.h"
#include "sim/sweep/spec.h"

namespace uvmsim::cli {
namespace {

namespace po = boost::program_options;
using Arguments = std::vector<std::string>;

constexpr const char* kSweepUsage = R"(uvmsim sweep SPEC.json -o DIR [--jobs N]
uvmsim sweep SPEC.json --dry-run [-o DIR] [--jobs N]
uvmsim sweep plan SPEC.json -o DIR
uvmsim sweep run DIR [--jobs N] [--seconds-per-point N] [--shard I/N]
uvmsim sweep status DIR
uvmsim sweep collect DIR [--partial]
uvmsim sweep slurm DIR [options]

Runs a grid of points: every combination of the traces, systems, layouts, factors and policies of a sweep file, on all
cores. The first form plans, runs and collects. What slowdowns divide by (the driver's own policies with the GPU's whole
memory) is run, too, where the grid lacks it.

Examples:
  uvmsim sweep configs/sweeps/euromlsys25.json -o paper
      the paper's sweep; results in paper/results.sqlite and paper/results.csv
  uvmsim sweep configs/sweeps/euromlsys25.json -o paper
      once more: only what is missing is computed, so after Ctrl-C, or with more factors in the file, it goes on
  uvmsim sweep configs/sweeps/euromlsys25.json --dry-run -o paper
      how many points that is, how many of them are there already, and roughly how long the rest takes
  uvmsim sweep plan s.json -o DIR && uvmsim sweep run DIR --shard 1/4
      on each of four machines another quarter; then `uvmsim sweep collect DIR`
  uvmsim sweep slurm DIR --points-per-task 50 -o job.sbatch && sbatch job.sbatch
      instead as a job array of Slurm; `uvmsim sweep slurm --help` has its options

A sweep file, say s.json (all keys: `uvmsim sweep --schema`; sim/sweep/README.md explains them):
  {"traces": ["workloads/*_h200.uvmt"], "systems": "h200-sxm-pcie5", "osf": ["none", 1, 1.5, 2],
   "prefetch": ["none", {"name": "tree", "parameters": {"threshold": [51, 75]}}]}
or of several programs at once, whose scenario files say the rest:
  {"scenarios": "configs/scenarios/shared_*.json", "shared_osf": [1, 1.3], "schedule": ["round_robin", "priority:0=1"],
   "evict": ["lrm", "quota:0=50,1=50"], "settings": {"runtime.time_slice_ns": [1000000, 2000000]}}

Options:
  -o [ --output ] DIR   the sweep's folder
  --dry-run             print what would run, one line per point, and compute and write nothing
  -j [ --jobs ] N       processes that compute, default one per core
  --seconds-per-point N a point that takes longer by the clock fails, default: none does
  --shard I/N           of N shares of the points, the I-th
  --partial             collect what is finished, into results.partial.sqlite and results.partial.csv
  --dry-run             print what would run and how long it may take; runs and writes nothing
  --schema              print the JSON schema of sweep files
  -h [ --help ]         print this text

Exit code: 0 when every point (of the shard) is finished, 1 when some failed or are missing, 2 for an error in the input.
)";

int print_text(const std::string& text) {
  fmt::print("{}", text);
  return kFine;
}

// What the verbs share; the text of --help lists them all.
void add_sweep_folder(po::options_description& options) {
  options.add_options()("output,o", po::value<std::string>()->value_name("DIR"), "the sweep's folder");
}
void add_sweep_work(po::options_description& options) {
  auto add = options.add_options();
  add("jobs,j", po::value<std::string>()->value_name("N"), "processes that compute, default one per core");
  add("seconds-per-point", po::value<std::string>()->value_name("N"),
      "a point that takes longer by the clock fails, default: none does");
}

// Positional argument 1 of a verb.
std::string argument_of(const po::variables_map& values, const char* verb, const char* what) {
  const Arguments found = positional_arguments(values);
  if (found.empty()) throw_input_error("sweep {}: no {} given; `uvmsim sweep --help` shows examples", verb, what);
  return found.front();
}

sweep::Shard shard_of(const po::variables_map& values) {
  const auto given = text_of(values, "shard");
  if (!given) return {};
  const std::size_t slash = given->find('/');
  const auto wrong = [&] {
    throw_input_error("--shard: '{}' is no share; allowed: I/N with I from 1 to N, such as 1/4", *given);
  };
  if (slash == std::string::npos) wrong();
  sweep::Shard shard;
  try {
    shard = {parse_unsigned("", given->substr(0, slash)), parse_unsigned("", given->substr(slash + 1))};
  } catch (const InputError&) {
    wrong();
  }
  if (shard.index == 0 || shard.index > shard.count) wrong();
  return shard;
}

std::string number_of_points(const sweep::Plan& plan) {
  const auto added =
      std::count_if(plan.points.begin(), plan.points.end(), [](const auto& point) { return !point.asked; });
  return fmt::format("{} points{}", plan.points.size(),
                     added == 0 ? "" : fmt::format(", {} of them only for slowdowns to divide by", added));
}

struct WrittenPlan {
  sweep::Plan plan;
  sweep::PlanLock lock;  // no process replaces it meanwhile
};

WrittenPlan make_and_write_plan(const std::string& spec, const std::string& folder) {
  sweep::Plan plan = sweep::make_plan(spec);
  sweep::PlanLock lock = sweep::write_plan(plan, folder);
  fmt::print("{}: {}\n", folder, number_of_points(plan));
  return {std::move(plan), std::move(lock)};
}

po::options_description with_help() {
  po::options_description options;
  options.add_options()("help,h", po::bool_switch(), "print this text");
  return options;
}

int plan_verb(const Arguments& arguments) {
  po::options_description options = with_help();
  add_sweep_folder(options);
  const auto values = parse_options("uvmsim sweep plan", arguments, options, 1);
  if (values["help"].as<bool>()) return print_text(kSweepUsage);
  const std::string spec = argument_of(values, "plan", "sweep file");
  make_and_write_plan(spec, output_of(values, "sweep plan"));
  return kFine;
}

int run_verb(const Arguments& arguments) {
  po::options_description options = with_help();
  add_sweep_work(options);
  options.add_options()("shard", po::value<std::string>()->value_name("I/N"), "of N shares of the points, the I-th");
  const auto values = parse_options("uvmsim sweep run", arguments, options, 1);
  if (values["help"].as<bool>()) return print_text(kSweepUsage);
  const std::string folder = argument_of(values, "run", "folder");
  const Work work = work_of(values);
  const sweep::Shard shard = shard_of(values);
  const sweep::PlanLock lock(folder);
  return run_plan(sweep::read_plan(folder), folder, shard, work);
}

int status_verb(const Arguments& arguments) {
  const auto values = parse_options("uvmsim sweep status", arguments, with_help(), 1);
  if (values["help"].as<bool>()) return print_text(kSweepUsage);
  const std::string folder = argument_of(values, "status", "folder");
  const sweep::SweepStatus status = sweep::sweep_status(sweep::read_plan(folder), folder);
  fmt::print("planned   {}\nfinished  {}\nfailed    {}\nmissing   {}\n", status.planned, status.finished,
             status.failed.size(), status.missing());
  print_failures(status);
  return status.complete() ? kFine : kFailed;
}

int collect_verb(const Arguments& arguments) {
  po::options_description options = with_help();
  options.add_options()("partial", po::bool_switch(),
                        "collect what is finished, into results.partial.sqlite and results.partial.csv");
  const auto values = parse_options("uvmsim sweep collect", arguments, options, 1);
  if (values["help"].as<bool>()) return print_text(kSweepUsage);
  const std::string folder = argument_of(values, "collect", "folder");
  const sweep::PlanLock lock(folder);
  return collect_plan(sweep::read_plan(folder), folder, values["partial"].as<bool>());
}

std::string duration_text(std::uint64_t milliseconds) {
  const std::uint64_t seconds = (milliseconds + 999) / 1000;
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 7200) return fmt::format("{} min", (seconds + 30) / 60);
  return fmt::format("{} h", (seconds + 1800) / 3600);
}

std::string time_text(const sweep::CostGuess& left, std::uint64_t processes) {
  if (left.points() == left.unknown()) return left.points() == 0 ? "-" : "not known";
  return fmt::format("{} to {}", duration_text(left.least_ms() / processes), duration_text(left.most_ms() / processes));
}

// What is missing, by trace, and a first guess of its time. Without a folder everything is missing.
void print_time(const sweep::Plan& plan, const std::vector<bool>& finished, std::size_t jobs) {
  struct OfTrace {
    std::uint64_t points = 0;
    sweep::CostGuess left;
  };
  std::map<std::string, OfTrace> traces;
  sweep::CostGuess left;
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    const sweep::PlannedPoint& planned = plan.points[i];
    OfTrace& trace = traces[std::filesystem::path(planned.point.trace).filename().string()];
    ++trace.points;
    if (finished[i]) continue;
    for (sweep::CostGuess* sum : {&trace.left, &left}) {
      if (planned.scenario) {
        sum->add_unknown();
      } else {
        sum->add(planned.point);
      }
    }
  }
  if (left.points() == left.unknown()) return;
  TextTable table({"trace", "points", "to run", "CPU time, a guess"});
  for (const auto& [name, trace] : traces) {
    table.add_row({name.empty() ? "scenarios" : name, report::format_count(trace.points),
                   report::format_count(trace.left.points()), time_text(trace.left, 1)});
  }
  const std::uint64_t processes = std::min<std::uint64_t>(jobs, left.points());
  fmt::print(
      "\n{}\nabout {} with {} {}: a guess from the sizes of traces and the limits{}; once points are done, `uvmsim "
      "sweep` "
      "says how long the rest takes from those\n",
      table.text(true), time_text(left, processes), processes, processes == 1 ? "process" : "processes",
      left.unknown() == 0
          ? ""
          : fmt::format(", without {} points of scenarios or of traces too small to tell", left.unknown()));
}

// Of a folder that is there, what is finished in it is said.
int dry_run(const std::string& spec, const std::optional<std::string>& folder, std::size_t jobs) {
  const sweep::Plan plan = sweep::make_plan(spec);
  const sweep::PointFiles files(folder.value_or(""));
  std::vector<bool> finished;
  for (const sweep::PlannedPoint& planned : plan.points) {
    finished.push_back(folder && files.is_finished(planned.id));
    const char* state = finished.back() ? " (finished)" : folder && files.error(planned.id) ? " (failed)" : "";
    fmt::print("{} {}{}{}\n", finished.size(), one_line(sweep::label(planned)), planned.asked ? "" : " (to divide by)",
               state);
  }
  const auto done = static_cast<std::size_t>(std::count(finished.begin(), finished.end(), true));
  fmt::print("{}, {} to compute\n", number_of_points(plan), plan.points.size() - done);
  print_time(plan, finished, jobs);
  return kFine;
}

int whole_sweep(const Arguments& arguments) {
  po::options_description options = with_help();
  add_sweep_folder(options);
  add_sweep_work(options);
  auto add = options.add_options();
  add("dry-run", po::bool_switch(), "print what would run and how long it may take; runs and writes nothing");
  add("schema", po::bool_switch(), "print the JSON schema of sweep files");
  const auto values = parse_options("uvmsim sweep", arguments, options, 1);
  if (values["help"].as<bool>()) return print_text(kSweepUsage);
  if (values["schema"].as<bool>()) return print_text(sweep::spec_schema());
  if (positional_arguments(values).empty()) {
    throw_input_error("sweep: no sweep file given; `uvmsim sweep --help` shows examples");
  }
  const std::string spec = positional_arguments(values).front();
  std::error_code ignored;
  if (!std::filesystem::exists(spec, ignored)) {
    throw_input_error("sweep: '{}' is neither a sweep file nor one of plan, run, status, collect, slurm", spec);
  }
  if (values["dry-run"].as<bool>()) return dry_run(spec, text_of(values, "output"), jobs_of(values));
  const std::string folder = output_of(values, "sweep " + spec);
  const Work work = work_of(values);
  const auto [plan, lock] = make_and_write_plan(spec, folder);
  const int code = run_plan(plan, folder, {}, work);
  return code == kFine ? collect_plan(plan, folder, false) : code;
}

struct SweepVerb {
  std::string_view name;
  int (*run)(const Arguments& arguments);
};
constexpr std::array kSweepVerbs = {SweepVerb{"plan", plan_verb}, SweepVerb{"run", run_verb},
                                    SweepVerb{"status", status_verb}, SweepVerb{"collect", collect_verb},
                                    SweepVerb{"slurm", sweep_slurm}};

}  // namespace

std::vector<std::string> sweep_verbs() {
  std::vector<std::string> names;
  for (const SweepVerb& verb : kSweepVerbs) names.emplace_back(verb.name);
  return names;
}

int sweep_command(const std::vector<std::string>& arguments) {
  for (const SweepVerb& verb : kSweepVerbs) {
    if (!arguments.empty() && verb.name == arguments.front()) return verb.run({arguments.begin() + 1, arguments.end()});
  }
  return whole_sweep(arguments);
}

}  // namespace uvmsim::cli
