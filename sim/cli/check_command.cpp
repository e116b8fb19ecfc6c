// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>

#include "sim/baseline/check.h"
#include "sim/baseline/check_report.h"
#include "sim/baseline/new_points.h"
#include "sim/cli/interrupt.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"
#include "sim/cli/result_output.h"
#include "sim/cli/run_options.h"
#include "sim/cli/run_to_points.h"
#include "sim/cli/sweep_work.h"
#include "sim/cli/tolerance_options.h"
#include "sim/cli/values.h"
#include "sim/common/atomic_file.h"
#include "sim/common/check.h"
#include "sim/common/error.h"
#include "sim/policy/plugin.h"

namespace uvmsim::cli {
namespace {

namespace po = boost::program_options;

constexpr std::size_t kMostBaselines = 1000;
constexpr const char* kNew = "--new";

constexpr const char* kCheckUsage = R"(uvmsim check BASELINE... [options]
uvmsim check BASELINE --from SWEEP [options]
uvmsim check BASELINE [options] --new TRACE --system SYSTEM [options of uvmsim run]

A baseline is a file of points (trace, system, OSF, layout, policies, seed, ...) and of what was found there. The first
form runs the points again, on all cores, and fails when something is not as expected: a check for CI. The others write
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
      the change is wanted: expect from now on what is found now, and say what changed

)";

constexpr const char* kCheckNotes = R"(
Expected values are exact unless the baseline gives a tolerance; configs/baselines/README.md describes the file. Paths in
it are relative to its folder. A trace that is missing, or is not the one that the baseline was made with, fails its points.
Exit code: 0 all as expected, 1 something is not, 2 an error in the input, 3 a bug in uvmsim or a plug-in.
)";

po::options_description check_options() {
  using Text = std::string;
  using Texts = std::vector<std::string>;
  const auto text = [](const char* name) { return po::value<Text>()->value_name(name); };
  const auto texts = [](const char* name) { return po::value<Texts>()->composing()->value_name(name); };
  po::options_description options("Options", 110, 70);
  auto add = options.add_options();
  add("only", text("PATTERN"), "only points whose name matches; * and ? are wildcards");
  add("plugin", texts("FILE"),
      "load policies from a shared library, in place of a point's own of the same file name; may be repeated");
  add("jobs", text("N"), "points at the same time, default: as many as there are CPUs");
  add("junit", text("FILE"), "write JUnit XML, one test case per point; - is standard output");
  add("update", po::bool_switch(), "write what was found into the baseline; tolerances and metrics stay");
  add("from", text("SWEEP"), "make a baseline of a sweep that has run, or add its points");
  add("new", po::bool_switch(), "make a baseline of new runs, or add them; all that follows are options of uvmsim run");
  add("metric", texts("NAME[,NAME...]"), "with --from or --new: what to expect, default the main metrics");
  add("tolerance", texts("[NAME=]TOLERANCE"),
      "with --from or --new: what counts as no change, such as settled_ns=0.5% or evictions=10; may be repeated");
  add("description", text("TEXT"), "with --from or --new: one line that says what the baseline is for");
  add("verbose", po::bool_switch(), "say on standard error what is being done");
  add("help,h", po::bool_switch(), "print this text");
  return options;
}

std::string help_text(const po::options_description& options) {
  std::ostringstream text;
  text << options;
  return kCheckUsage + text.str() + kCheckNotes;
}

// A bar over the points of one baseline, and Ctrl-C.
class PointProgress {
 public:
  PointProgress(bool verbose, const std::string& step, std::size_t points) : progress_(verbose) {
    progress_.begin(step, points);
  }
  baseline::RunProgress reporter() {
    return [this](std::size_t done) {
      throw_if_interrupted();
      progress_.update(done);
    };
  }
  void end() { progress_.end(); }

 private:
  Progress progress_;
};

// The checks of the first form.
class Checker {
 public:
  Checker(const po::variables_map& values, std::vector<std::string> paths)
      : paths_(std::move(paths)),
        update_(values["update"].as<bool>()),
        verbose_(values["verbose"].as<bool>()),
        junit_(text_of(values, "junit")),
        junit_output_(junit_) {
    options_.only = text_of(values, "only").value_or("*");
    options_.plugins = texts_of(values, "plugin");
    options_.jobs = jobs_of(values);
    options_.any_trace = update_;
    for (const std::string& plugin : options_.plugins) policy::find_plugin(plugin);  // there at all?
    for (const std::string& path : paths_) baselines_.push_back(baseline::read_baseline(path));
    for (std::size_t i = 0; i < paths_.size(); ++i) baseline::requests_of(baselines_[i], paths_[i], options_);
  }

  int run() {
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      PointProgress progress(verbose_, paths_[i], baselines_[i].points.size());
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
      // A point that did not run says so in the words of the check, and leaves its file as it was.
      const auto& verdicts = results_[i].verdicts;
      const bool ran = std::all_of(verdicts.begin(), verdicts.end(), [](const baseline::PointVerdict& verdict) {
        return verdict.answer.error.empty() &&
               std::all_of(verdict.metrics.begin(), verdict.metrics.end(),
                           [](const baseline::MetricVerdict& metric) { return metric.found.has_value(); });
      });
      if (!ran) {
        all_ran = false;
        print(baseline::check_text(results_[i]) + paths_[i] + " stays as it was\n");
        continue;
      }
      const std::string before = baseline::baseline_text(baselines_[i]);
      const std::string now = baseline::baseline_text(baseline::updated(baselines_[i], results_[i]));
      if (now != before) write_file(paths_[i], now, {.over_input = true});
      print(baseline::update_text(results_[i]));
    }
    return exit_code([&](const baseline::CheckResult&) { return all_ran; });
  }

  template <class Fine>
  int exit_code(Fine&& fine) const {
    const auto has_bug = [](const baseline::CheckResult& result) { return result.has_bug(); };
    if (std::any_of(results_.begin(), results_.end(), has_bug)) return 3;
    return std::all_of(results_.begin(), results_.end(), fine) ? 0 : 1;
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

// The file as it is, or an empty baseline.
baseline::Baseline existing_or_empty(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) ? baseline::read_baseline(path) : baseline::Baseline{};
}

// Puts points into the file; tolerances and description of the command line with them.
void write_points(const std::string& path, baseline::Baseline baseline, std::vector<baseline::BaselinePoint> points,
                  const po::variables_map& values) {
  const std::size_t before = baseline.points.size(), added = points.size();
  baseline::add_points(baseline, path, std::move(points));
  add_tolerances(baseline.tolerances, texts_of(values, "tolerance"));
  baseline::check_tolerances(baseline, "--tolerance");
  if (const auto description = text_of(values, "description")) baseline.description = *description;
  write_file(path, baseline::baseline_text(baseline), {.over_input = true});
  fmt::print("{}: {} point{} written{}\n", path, added, added == 1 ? "" : "s",
             before == 0 ? "" : fmt::format(", {} in all", before + added));
}

int make_from_sweep(const std::string& path, const std::string& folder, const po::variables_map& values) {
  baseline::Baseline baseline = existing_or_empty(path);
  baseline::SweepPoints sweep = baseline::points_of_sweep(path, folder, listed_texts(values, "metric"));
  if (!sweep.same_model) {
    fmt::print(stderr,
               "uvmsim: warning: {} was computed by another version of the model; if the check fails, --update\n",
               folder);
  }
  write_points(path, std::move(baseline), std::move(sweep.points), values);
  return 0;
}

int make_from_runs(const std::string& path, const std::vector<std::string>& run_arguments,
                   const po::variables_map& values) {
  const RunArguments run = parse_run_arguments(run_arguments);
  if (run.help) {
    fmt::print("{}", run_help());
    return 0;
  }
  if (run.explain_columns) throw_input_error("--new: --explain-columns runs nothing; allowed without it");
  if (run.trace == "-") throw_input_error("--new: the trace of a baseline is a file, not standard input");
  if (run.json || run.csv || run.timeline || run.profile) {
    throw_input_error(
        "--new: a baseline is all that is written; allowed without --json, --csv, --timeline and --profile");
  }
  baseline::Baseline baseline = existing_or_empty(path);
  std::vector<baseline::RunRequest> requests;
  for (const sweep::Point& point : points_of(run)) requests.push_back({point, ""});

  PointProgress progress(run.verbose || values["verbose"].as<bool>(), path, requests.size());
  const auto answers = baseline::run_points(requests, jobs_of(values), progress.reporter());
  progress.end();
  std::vector<baseline::BaselinePoint> points;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (answers[i].is_bug) throw ModelError(answers[i].error);
    if (!answers[i].error.empty()) throw InputError(answers[i].error);
    points.push_back(baseline::new_point(path, requests[i].point, answers[i], listed_texts(values, "metric")));
  }
  write_points(path, std::move(baseline), std::move(points), values);
  return 0;
}

// Options that only one of the forms has.
void check_form(const po::variables_map& values, bool makes) {
  const auto refuse_given = [&](const std::vector<const char*>& names, const char* why) {
    for (const char* name : names) {
      const bool given = std::string_view(name) == "update" ? values[name].as<bool>() : values.count(name) != 0;
      if (given) throw_input_error("--{} {}", name, why);
    }
  };
  if (makes) {
    refuse_given({"only", "plugin", "junit", "update"}, "has no effect when a baseline is made with --from or --new");
  } else {
    refuse_given({"metric", "tolerance", "description"}, "is for --from and --new; a baseline has its own");
  }
}

}  // namespace

int check_command(const std::vector<std::string>& arguments) {
  const auto end_of_own = std::find(arguments.begin(), arguments.end(), kNew);
  const bool is_new = end_of_own != arguments.end();
  const std::vector<std::string> own(arguments.begin(), end_of_own);
  const po::options_description options = check_options();
  const po::variables_map values = parse_options("uvmsim check", own, options, kMostBaselines);
  if (values["help"].as<bool>()) {
    fmt::print("{}", help_text(options));
    return 0;
  }
  const std::vector<std::string> paths = positional_arguments(values);
  if (paths.empty()) throw_input_error("check: no baseline given; `uvmsim check --help` shows examples");
  const std::optional<std::string> folder = text_of(values, "from");
  check_form(values, is_new || folder);
  if (is_new && folder) throw_input_error("--from and --new both make a baseline; give one of them");
  if ((is_new || folder) && paths.size() > 1) {
    throw_input_error("check: one baseline at a time can be made, not {}", paths.size());
  }
  if (folder) return make_from_sweep(paths.front(), *folder, values);
  if (is_new) return make_from_runs(paths.front(), {end_of_own + 1, arguments.end()}, values);
  if (std::set<std::string>(paths.begin(), paths.end()).size() != paths.size()) {
    throw_input_error("check: a baseline is given twice");
  }
  return Checker(values, paths).run();
}

}  // namespace uvmsim::cli
