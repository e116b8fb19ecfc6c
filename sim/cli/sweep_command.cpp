// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "sim/cli/sweep_work.h"
#include "sim/common/error.h"
#include "sim/common/plain_text.h"
#include "sim/formats/wrapped.h"
#include "sim/report/numbers.h"
#include "sim/sweep/collect.h"
#include "sim/sweep/plan.h"
#include "sim/sweep/point_files.h"
#include "sim/sweep/schedule.h"
#include "sim/sweep/spec.h"
#include "sim/sweep/values.h"

namespace uvmsim::cli {
namespace {

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
  -j [ --jobs ] N       processes that compute, default one per core
  --seconds-per-point N a point that takes longer by the clock fails, default: none does
  --shard I/N           of N shares of the points, the I-th
  --partial             collect what is finished, into results.partial.sqlite and results.partial.csv
  --dry-run             print what would run, one line per point, and how long it may take; run and write nothing
  --schema              print the JSON schema of sweep files
  -h [ --help ]         print this text

Exit code: 0 when every point (of the shard) is finished, 1 when some failed or are missing, 2 for an error in the input.
)";

constexpr Option kFolder{"output,o", "DIR", "the sweep's folder"};

// Returns the command line of a verb: the text of --help lists the options of all verbs.
CommandLine sweep_line(std::vector<Option> options, int (*run)(const Values& values)) {
  options.insert(options.begin(), kHelp);
  return {.usage = kSweepUsage, .options = options, .most_arguments = 1, .run = run, .lists_options = false};
}

const std::string& argument_of(const Values& values, const char* verb, const char* what) {
  return values.first(fmt::format("sweep {}: no {} given; `uvmsim sweep --help` shows examples", verb, what));
}

sweep::Shard shard_of(const Values& values) {
  const auto given = values.text("shard");
  if (!given) return {};
  const std::size_t slash = given->find('/');
  const auto wrong = [&] {
    throw_input_error("--shard: '{}' is no share; allowed: I/N with I from 1 to N, such as 1/4", *given);
  };
  if (slash == std::string::npos) wrong();
  sweep::Shard shard;
  try {
    shard = {sweep::parse_unsigned("", given->substr(0, slash)), sweep::parse_unsigned("", given->substr(slash + 1))};
  } catch (const InputError&) {
    wrong();
  }
  if (shard.index == 0 || shard.index > shard.count) wrong();
  return shard;
}

std::string number_of_points(const sweep::Plan& plan) {
  const auto added = std::ranges::count(plan.points, false, &sweep::PlannedPoint::asked);
  return fmt::format("{} points{}", plan.points.size(),
                     added == 0 ? "" : fmt::format(", {} of them only for slowdowns to divide by", added));
}

struct WrittenPlan {
  sweep::Plan plan;
  sweep::PlanLock lock;  // keeps other processes from replacing the plan
};

WrittenPlan make_and_write_plan(const std::string& spec, const std::string& folder) {
  sweep::Plan plan = sweep::make_plan(spec);
  sweep::PlanLock lock = sweep::write_plan(plan, folder);
  fmt::print("{}: {}\n", folder, number_of_points(plan));
  return {std::move(plan), std::move(lock)};
}

int plan_verb(const Values& values) {
  const std::string& spec = argument_of(values, "plan", "sweep file");
  make_and_write_plan(spec, output_of(values, "sweep plan"));
  return kFine;
}

int run_verb(const Values& values) {
  const std::string& folder = argument_of(values, "run", "folder");
  sweep::SweepRun run = work_of(values);
  run.shard = shard_of(values);
  const sweep::PlanLock lock(folder);
  return run_plan(sweep::read_plan(folder), folder, run);
}

int status_verb(const Values& values) {
  const std::string& folder = argument_of(values, "status", "folder");
  const sweep::SweepStatus status = sweep::sweep_status(sweep::read_plan(folder), folder);
  fmt::print("planned   {}\nfinished  {}\nfailed    {}\nmissing   {}\n", status.planned, status.finished,
             status.failed.size(), status.missing());
  print_failures(status);
  return status.complete() ? kFine : kFailed;
}

int collect_verb(const Values& values) {
  const std::string& folder = argument_of(values, "collect", "folder");
  const sweep::PlanLock lock(folder);
  return collect_plan(sweep::read_plan(folder), folder, values.given("partial"));
}

CommandLine plan_line() { return sweep_line({kFolder}, plan_verb); }
CommandLine run_line() {
  return sweep_line({kJobs, kPointLimit, {"shard", "I/N", "of N shares of the points, the I-th"}}, run_verb);
}
CommandLine status_line() { return sweep_line({}, status_verb); }
CommandLine collect_line() {
  return sweep_line({{"partial", "", "collect what is finished, into results.partial.sqlite and results.partial.csv"}},
                    collect_verb);
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

// Prints the missing points by trace, with a first guess of their time. Without a folder all points are missing.
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

// Prints the points that would run; if the folder exists, with their state in it.
int dry_run(const std::string& spec, const std::optional<std::string>& folder, std::size_t jobs) {
  const sweep::Plan plan = sweep::make_plan(spec);
  const sweep::PointFiles files(folder.value_or(""));
  std::vector<bool> finished;
  for (const sweep::PlannedPoint& planned : plan.points) {
    finished.push_back(folder && files.is_finished(planned.id));
    const char* state = finished.back() ? " (finished)" : folder && files.error(planned.id) ? " (failed)" : "";
    fmt::print("{} {}{}{}\n", finished.size(), plain_text(sweep::label(planned)),
               planned.asked ? "" : " (to divide by)", state);
  }
  const auto done = static_cast<std::size_t>(std::ranges::count(finished, true));
  fmt::print("{}, {} to compute\n", number_of_points(plan), plan.points.size() - done);
  print_time(plan, finished, jobs);
  return kFine;
}

int whole_sweep(const Values& values) {
  if (values.given("schema")) {
    fmt::print("{}", sweep::spec_schema());
    return kFine;
  }
  const std::string& spec = values.first("sweep: no sweep file given; `uvmsim sweep --help` shows examples");
  std::error_code ignored;
  if (!std::filesystem::exists(spec, ignored)) {
    throw_input_error("sweep: '{}' is neither a sweep file nor one of plan, run, status, collect, slurm", spec);
  }
  if (values.given("dry-run")) return dry_run(spec, values.text("output"), jobs_of(values));
  const std::string folder = output_of(values, "sweep " + spec);
  const sweep::SweepRun work = work_of(values);
  const auto [plan, lock] = make_and_write_plan(spec, folder);
  const int code = run_plan(plan, folder, work);
  return code == kFine ? collect_plan(plan, folder, false) : code;
}

}  // namespace

CommandLine sweep_command() {
  CommandLine line =
      sweep_line({kFolder,
                  kJobs,
                  kPointLimit,
                  {"dry-run", "", "print what would run and how long it may take; runs and writes nothing"},
                  {"schema", "", "print the JSON schema of sweep files"}},
                 whole_sweep);
  line.verbs = {{"plan", "", plan_line},
                {"run", "", run_line},
                {"status", "", status_line},
                {"collect", "", collect_line},
                {"slurm", "", sweep_slurm}};
  return line;
}

}  // namespace uvmsim::cli
