// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <set>

#include "sim/baseline/check.h"
#include "sim/baseline/new_points.h"
#include "sim/cli/progress.h"
#include "sim/cli/result_output.h"
#include "sim/cli/run_options.h"
#include "sim/cli/say.h"
#include "sim/cli/sweep_work.h"
#include "sim/common/atomic_file.h"
#include "sim/common/check.h"
#include "sim/common/error.h"
#include "sim/common/file_lock.h"
#include "sim/common/plain_text.h"
#include "sim/policy/plugin.h"

namespace uvmsim::cli {
namespace {

constexpr std::size_t kMostBaselines = 1000;

constexpr const char* kCheckUsage = R"(uvmsim check BASELINE... [options]
uvmsim check BASELINE --from SWEEP [options]
uvmsim check BASELINE [options] --new TRACE --system SYSTEM [options of uvmsim run]

A baseline is a file of points (trace, system, OSF, layout, policies, seed, ...) and of their results. The first form
runs the points again, on all cores, and fails if a result is not as expected: a check for CI. The others write
a baseline, or add points to one: from a sweep that has run, or from runs made now.

Examples:
  uvmsim check configs/baselines/*.json
  uvmsim check mine.json --plugin build/next_unit.so --junit report.xml
      your policy as it is built now, against what it did before
  uvmsim check mine.json --from sweep.dir --tolerance settled_ns=1%
      a sweep becomes a check
  uvmsim check mine.json --metric settled_ns,evictions --new gpt2.uvmt --system h200-sxm-pcie5 --osf 1,1.5,2 \
      --plugin build/next_unit.so --prefetch next_unit
      first baseline of a policy
  uvmsim check mine.json --update
      the change is intended: make the present results the expected ones, and print what changed

)";

constexpr const char* kCheckNotes = R"(
Expected values are exact unless the point or its file gives a tolerance. A one-sided limit (+1%) lets an improvement
pass. configs/baselines/README.md describes the file. Paths in it are relative to its folder. A trace that is missing,
or is not the one that the baseline was made with, fails its points.
Exit code: 0 all as expected, 1 something is not, 2 an error in the input, 3 a bug in uvmsim or a plug-in.
)";

// Returns whether two versions of a point have the same inputs and expect the same metrics.
bool same_question(const baseline::BaselinePoint& a, const baseline::BaselinePoint& b) {
  const auto name = [](const auto& metric) { return metric.first; };
  return sweep::label(a.point) == sweep::label(b.point) && a.point.plugins.size() == b.point.plugins.size() &&
         std::ranges::equal(a.expected, b.expected, {}, name, name);
}

// The command's first form: runs the points of baselines and checks them.
class Checker {
 public:
  explicit Checker(const Values& values)
      : paths_(values.arguments()),
        update_(values.given("update")),
        verbose_(values.given("verbose")),
        junit_(values.text("junit")),
        junit_output_(junit_) {
    options_.only = values.text("only").value_or("*");
    options_.plugins = values.texts("plugin");
    options_.jobs = jobs_of(values);
    options_.any_trace = update_;
    for (const std::string& plugin : options_.plugins) policy::find_plugin(plugin);  // fails early if it is missing
    for (const std::string& path : paths_) baselines_.push_back(baseline::read_baseline(path));
    for (std::size_t i = 0; i < paths_.size(); ++i) baseline::requests_of(baselines_[i], paths_[i], options_);
  }

  int run() {
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      Progress progress(verbose_);
      progress.begin(paths_[i], baselines_[i].points.size());
      results_.push_back(baseline::check(baselines_[i], paths_[i], options_, progress.reporter()));
      progress.end();
    }
    if (junit_) junit_output_.write(baseline::junit_xml(results_));
    if (update_) return update();
    for (const baseline::CheckResult& result : results_) print(baseline::check_text(result));
    return exit_code([](const baseline::CheckResult& result) { return result.failures() == 0; });
  }

 private:
  int update() {
    bool all_ran = true;
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      // If a point did not run, the check's text says so and the file is left unchanged.
      const auto& verdicts = results_[i].verdicts;
      const bool ran = std::ranges::all_of(verdicts, [](const baseline::PointVerdict& verdict) {
        return verdict.answer.error.empty() &&
               std::ranges::all_of(verdict.metrics,
                                   [](const baseline::MetricVerdict& metric) { return metric.found.has_value(); });
      });
      if (!ran) {
        all_ran = false;
        print(baseline::check_text(results_[i]) + paths_[i] + " stays as it was\n");
        continue;
      }
      write_updated(i);
      print(baseline::update_text(results_[i]));
    }
    return exit_code([&](const baseline::CheckResult&) { return all_ran; });
  }

  // Updates the file as it is by now: other points may have been updated or added during the runs.
  void write_updated(std::size_t i) {
    const FileLock lock(paths_[i]);
    const baseline::Baseline present = baseline::read_baseline(paths_[i]);
    for (const baseline::PointVerdict& verdict : results_[i].verdicts) {
      const auto ran = std::ranges::find(baselines_[i].points, verdict.name, &baseline::BaselinePoint::name);
      const auto kept = std::ranges::find(present.points, verdict.name, &baseline::BaselinePoint::name);
      if (kept == present.points.end() || !same_question(*ran, *kept)) {
        throw_input_error("{}: not updated: the point '{}' changed while it ran; run the command again", paths_[i],
                          verdict.name);
      }
    }
    const std::string now = baseline::baseline_text(baseline::updated(present, results_[i]));
    if (now != baseline::baseline_text(present)) write_file(paths_[i], now, {.over_input = true});
  }

  template <class Fine>
  int exit_code(Fine&& fine) const {
    const auto has_bug = [](const baseline::CheckResult& result) { return result.has_bug(); };
    if (std::ranges::any_of(results_, has_bug)) return 3;
    return std::ranges::all_of(results_, fine) ? 0 : 1;
  }
  void print(const std::string& text) const {
    if (junit_ != "-") fmt::print("{}", text);
  }

  std::vector<std::string> paths_;
  baseline::CheckOptions options_;
  bool update_, verbose_;
  std::optional<std::string> junit_;
  ResultOutput junit_output_;
  std::vector<baseline::Baseline> baselines_;
  std::vector<baseline::CheckResult> results_;
};

// Returns the file's baseline, or an empty one if there is no file.
baseline::Baseline existing_or_empty(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) ? baseline::read_baseline(path) : baseline::Baseline{};
}

// Options that say what a new baseline expects and what it is for. They may stand before --new or behind it.
constexpr Option kMaking[] = {
    {"metric", "NAME[,NAME...]", "with --from or --new: what to expect, default the main metrics", kRepeatable},
    {"tolerance", "[NAME=]TOLERANCE",
     "with --from or --new: what counts as no change in these points, such as settled_ns=0.5% or evictions=10; +1% is "
     "a "
     "limit of rises alone, -1% one of falls; may be repeated",
     kRepeatable},
    {"description", "TEXT", "with --from or --new: one line that says what the baseline is for"}};

struct Making {
  baseline::MetricChoice metrics;
  compare::Tolerances tolerances;
  std::optional<std::string> description;
};

// Reads these options from one or two parts of a command line.
Making read_making(std::initializer_list<const Values*> parts) {
  Making making;
  std::vector<std::string> tolerances;
  for (const Values* values : parts) {
    std::ranges::move(values->listed("metric"), std::back_inserter(making.metrics));
    std::ranges::move(values->texts("tolerance"), std::back_inserter(tolerances));
    const auto description = values->text("description");
    if (description && making.description) throw_input_error("--description is given twice");
    if (description) making.description = description;
  }
  making.tolerances.add_all(tolerances, "--tolerance");
  return making;
}

std::string tolerances_text(const compare::Tolerances& tolerances) {
  std::string text;
  for (const auto& [metric, given] : tolerances.given()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", metric, tolerances.of(metric).text());
  }
  return text;
}

// Puts points with their tolerances into the file as it is by now. Points that are there keep theirs.
void write_points(const std::string& path, std::vector<baseline::BaselinePoint> points, const Making& making) {
  const FileLock lock(path);
  baseline::Baseline baseline = existing_or_empty(path);
  const std::size_t before = baseline.points.size(), added = points.size();
  baseline::set_tolerances(points, making.tolerances, "--tolerance");
  baseline::add_points(baseline, path, std::move(points));
  const std::string old_description = baseline.description;
  baseline.description = making.description.value_or(old_description);
  write_file(path, baseline::baseline_text(baseline), {.over_input = true});
  fmt::print("{}: {} point{} written{}\n", plain_text(path), added, added == 1 ? "" : "s",
             before == 0 ? "" : fmt::format(", {} in all", before + added));
  if (!making.tolerances.given().empty()) {
    fmt::print("  tolerances of the new points: {}\n", tolerances_text(making.tolerances));
  }
  if (!baseline.tolerances.given().empty()) {
    fmt::print("  tolerances of the file, for metrics without one in their point: {}\n",
               tolerances_text(baseline.tolerances));
  }
  if (!old_description.empty() && old_description != baseline.description) {
    fmt::print("  description: {} (before: {})\n", plain_text(baseline.description), plain_text(old_description));
  }
}

int make_from_sweep(const std::string& path, const std::string& folder, const Values& values) {
  existing_or_empty(path);  // fails before the work if the file is not a baseline
  const Making making = read_making({&values});
  baseline::SweepPoints sweep = baseline::points_of_sweep(path, folder, making.metrics);
  if (!sweep.same_model) warn("{} was computed by another version of the model; if the check fails, --update", folder);
  write_points(path, std::move(sweep.points), making);
  return 0;
}

int make_from_runs(const std::string& path, const Values& values) {
  CommandLine line = run_command();
  line.options.insert(line.options.end(), std::begin(kMaking), std::end(kMaking));
  const Values given = read(line, "uvmsim run", *values.rest());
  if (given.given("help")) {
    fmt::print("{}", help_of(line));
    return 0;
  }
  if (given.given("explain-columns")) throw_input_error("--new: --explain-columns runs nothing; allowed without it");
  const Making making = read_making({&values, &given});
  const RunArguments run = read_run_options(given);
  if (run.shared.trace == "-") throw_input_error("--new: the trace of a baseline is a file, not standard input");
  if (run.json || run.csv || run.timeline || run.profile) {
    throw_input_error(
        "--new: a baseline is all that is written; allowed without --json, --csv, --timeline and --profile");
  }
  existing_or_empty(path);  // fails before the work if the file is not a baseline
  std::vector<baseline::RunRequest> requests;
  for (const sweep::Point& point : points_of(run)) requests.push_back({point, ""});

  Progress progress(run.verbose || values.given("verbose"));
  progress.begin(path, requests.size());
  const auto answers = baseline::run_points(requests, jobs_of(values), progress.reporter());
  progress.end();
  std::vector<baseline::BaselinePoint> points;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (answers[i].is_bug) throw ModelError(answers[i].error);
    if (!answers[i].error.empty()) throw InputError(answers[i].error);
    points.push_back(baseline::new_point(path, requests[i].point, answers[i], making.metrics));
  }
  write_points(path, std::move(points), making);
  return 0;
}

// Refuses options that only the other form has.
void check_form(const Values& values, bool makes) {
  const auto refuse_given = [&](std::initializer_list<const char*> names, const char* why) {
    for (const char* name : names) {
      if (values.given(name)) throw_input_error("--{} {}", name, why);
    }
  };
  if (makes) {
    refuse_given({"only", "plugin", "junit", "update"}, "has no effect when a baseline is made with --from or --new");
  } else {
    refuse_given({"metric", "tolerance", "description"}, "is for --from and --new; a baseline has its own");
  }
}

int check_baselines(const Values& values) {
  const Arguments& paths = values.arguments();
  values.first("check: no baseline given; `uvmsim check --help` shows examples");
  const bool is_new = values.rest().has_value();
  const std::optional<std::string> folder = values.text("from");
  check_form(values, is_new || folder);
  if (is_new && folder) throw_input_error("--from and --new both make a baseline; give one of them");
  if ((is_new || folder) && paths.size() > 1) {
    throw_input_error("check: one baseline at a time can be made, not {}", paths.size());
  }
  if (folder) return make_from_sweep(paths.front(), *folder, values);
  if (is_new) return make_from_runs(paths.front(), values);
  if (std::set<std::string>(paths.begin(), paths.end()).size() != paths.size()) {
    throw_input_error("check: a baseline is given twice");
  }
  return Checker(values).run();
}

}  // namespace

CommandLine check_command() {
  CommandLine line{
      .usage = kCheckUsage,
      .options =
          {{"only", "PATTERN", "only points whose name matches; * and ? are wildcards"},
           {"plugin", "FILE",
            "load policies from a shared library, in place of a point's own of the same file name; may be repeated",
            kRepeatable},
           {"jobs", "N", "points at the same time, default: as many as there are CPUs"},
           {"junit", "FILE", "write JUnit XML, one test case per point; - is standard output"},
           {"update", "", "write what was found into the baseline; tolerances and metrics stay"},
           {"from", "SWEEP", "make a baseline of a sweep that has run, or add its points"},
           {"new", "",
            "make a baseline of new runs, or add them; what follows are options of uvmsim run, and those below that "
            "are "
            "for --new"},
           kVerbose,
           kHelp},
      .notes = kCheckNotes,
      .most_arguments = kMostBaselines,
      .run = check_baselines,
      .last_word = "--new"};
  line.options.insert(line.options.end() - 2, std::begin(kMaking), std::end(kMaking));  // before --verbose and --help
  return line;
}

}  // namespace uvmsim::cli
