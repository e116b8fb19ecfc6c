// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/cli/run_options.h"
#include "sim/cli/say.h"
#include "sim/cli/sweep_work.h"
#include "sim/cli/terminal.h"
#include "sim/common/atomic_file.h"
#include "sim/common/error.h"
#include "sim/formats/fields.h"
#include "sim/league/entrants.h"
#include "sim/league/league.h"
#include "sim/policy/plugin.h"
#include "sim/policy/registry.h"
#include "sim/sweep/collect.h"
#include "sim/sweep/spec.h"
#include "sim/sweep/values.h"

namespace uvmsim::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLeagueUsage = R"(uvmsim league TRACE... --system SYSTEM --osf X[,Y...] -o DIR [options]
uvmsim league SPEC.json -o DIR [--plugin FILE] [--jobs N]
uvmsim league plan ... -o DIR
uvmsim league table DIR

Runs all policies on the same programs and ranks them: a table per program and factor, and one over all. Every
registered policy of a slot takes part, beside the driver's own of the other slots; those of plug-ins stand out.

Examples:
  uvmsim league workloads/gpt2.uvmt --system h200-sxm-pcie5 --layout pytorch_caching --osf 1.5,2 -o league
      which policy suits GPT-2 best, and how far it is from the lower bound
  uvmsim league workloads/gpt2.uvmt --system h200-sxm-pcie5 --osf 2 --plugin ./mine.so -o league
      the rank of a policy of yours
  uvmsim league workloads/bfs.uvmt --system h200-sxm-pcie5 --osf 2 --prefetch none --prefetch tree --evict lru -o small
      only these combinations, and the driver's own
  uvmsim league configs/sweeps/league.json -o league
      the shipped workloads; a sweep file, see sim/sweep/README.md
  uvmsim league plan configs/sweeps/league.json -o DIR && uvmsim sweep run DIR --shard 1/4
      on each of four machines another quarter; then `uvmsim league table DIR`

)";

constexpr const char* kLeagueNotes = R"(
DIR becomes the folder of a sweep with lower bounds. After an interruption the same command continues and computes no
run twice. DIR holds league.txt, league.csv and league.json, and results.sqlite and results.csv as every sweep does.
`python3 -m analysis.plot_league DIR -o FIGURE` draws it.
Ranks are by the time of a settled iteration: all policies run 32 iterations, or as many as --iterations says
(sim/report/README.md says when a run has settled; one that has not is marked, and ranked by the mean of the later
half of its passes). If the trace marks no iteration that can be repeated, and with --iterations recorded, ranks are
by the time of the whole run. Equal times share a rank.
"/ driver": the time over that under the driver's own policies. "learning": iterations before the first settled one.
"/ bound", "/ best known": the whole run's time over the best lower bound, and over the fastest of all policies.
`uvmsim bounds --help` and sim/bounds/README.md explain the difference between bound and time. Overall: the geometric
mean of "/ driver".
A sweep file that names no other policies than the driver's stands for all of them.
Exit code: 0 when every run finished, 1 when some failed or are missing, 2 for an error in the input.
)";

std::vector<Option> league_options() {
  std::vector<Option> options = program_options();
  for (const policy::Slot slot : kPolicySlots) {
    options.push_back({policy::slot_name(slot), "NAME[:key=value,...]",
                       "a policy that takes part, instead of all; may be repeated: every combination", kRepeatable});
  }
  options.insert(options.end(),
                 {{"output,o", "DIR", "the folder of the league"},
                  kJobs,
                  {"seconds-per-point", "N", "a run that takes longer by the clock fails, default: none does"},
                  kHelp});
  return options;
}

// Makes paths absolute, as workers and later commands may run in another folder.
std::string absolute(const std::string& path) { return fs::absolute(path).lexically_normal().string(); }

Texts plugins_of(const Values& values) {
  Texts paths;
  for (const std::string& path : values.texts("plugin")) paths.push_back(absolute(policy::find_plugin(path)));
  return paths;
}

// Returns every combination of the policies that the options name; a slot without an option has the driver's policy.
std::vector<sweep::Point> combined(std::vector<sweep::Point> points, const Values& values) {
  for (const policy::Slot slot : kPolicySlots) {
    const std::string name(policy::slot_name(slot));
    const Texts texts = values.texts(name);
    if (texts.empty()) continue;
    std::vector<sweep::Point> more;
    for (const sweep::Point& point : points) {
      for (const std::string& text : texts) {
        more.push_back(point);
        more.back().*choice_of(slot) = sweep::parse_policy("--" + name, text);
      }
    }
    points = std::move(more);
  }
  return points;
}

// Returns whether an option changes how points are computed, as opposed to which points are computed.
bool is_of_the_work(std::string_view option) {
  return option == "output" || option == "jobs" || option == "seconds-per-point";
}

// Returns the request as JSON: the sweep's record of where its points come from.
std::string asked_for(const Texts& inputs, const Values& values) {
  nlohmann::ordered_json json = {{"traces", inputs}};
  const std::vector<Option> known = league_options();
  for (const auto& [name, texts] : values.options()) {
    if (is_of_the_work(name)) continue;
    const auto option = std::ranges::find(known, name, &Option::long_name);
    if (texts.empty()) {
      json[name] = true;
    } else if (option->repeatable) {
      json[name] = texts;
    } else {
      json[name] = texts.front();
    }
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

sweep::Spec spec_of_traces(const Texts& traces, const Values& values) {
  RunArguments run = read_program_options("league", values);
  if (fs::exists(run.shared.system)) run.shared.system = absolute(run.shared.system);
  run.shared.plugins = plugins_of(values);
  sweep::Spec spec;
  for (const std::string& trace : traces) {
    if (trace == "-") throw_input_error("league: standard input cannot be read again and again; allowed: files");
    run.shared.trace = absolute(trace);
    for (sweep::Point& point : combined(points_of(run), values)) spec.points.push_back(std::move(point));
  }
  spec.json = asked_for(traces, values);
  return spec;
}

sweep::Spec spec_of_file(const std::string& path, const Values& values) {
  for (const auto& [name, texts] : values.options()) {
    if (name != "plugin" && !is_of_the_work(name)) {
      throw_input_error("league: --{} has no effect on a sweep file; {} says it itself", name, path);
    }
  }
  sweep::Spec spec = sweep::read_spec(path);
  if (!spec.scenarios.empty()) {
    throw_input_error(
        "{}: scenarios; a league ranks policies by the time of one program each: `uvmsim sweep` runs scenarios "
        "under several policies",
        path);
  }
  const Texts plugins = plugins_of(values);
  if (plugins.empty()) return spec;
  for (sweep::Point& point : spec.points) point.plugins.insert(point.plugins.end(), plugins.begin(), plugins.end());
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(spec.json);
  json["plugin"] = values.texts("plugin");
  spec.json = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return spec;
}

sweep::Plan plan_and_write(const Values& values, const std::string& folder) {
  const Arguments& inputs = values.arguments();
  if (inputs.empty()) throw_input_error("league: no trace or sweep file given; `uvmsim league --help` shows examples");
  const bool is_spec = inputs.front().ends_with(".json");
  if (is_spec && inputs.size() > 1) {
    throw_input_error("league: '{}' beside the sweep file {}; allowed: one sweep file, or traces", inputs[1],
                      inputs.front());
  }
  sweep::Spec spec = is_spec ? spec_of_file(inputs.front(), values) : spec_of_traces(inputs, values);
  sweep::Resolver resolver;
  spec.points = league::league_points(spec.points, resolver);
  const sweep::Plan plan = sweep::make_plan(spec, "league");
  const sweep::PlanLock lock = sweep::write_plan(plan, folder);
  fmt::print("{}: {} points\n", folder, plan.points.size());
  return plan;
}

// Makes the lines of plug-ins stand out on a terminal.
std::string highlighted(const std::string& text) {
  if (!shows_colours(STDOUT_FILENO)) return text;
  std::string out;
  for (const std::string& line : split(text, '\n')) {
    out += (line.starts_with('>') ? styled(STDOUT_FILENO, kBold, line) : line) + "\n";
  }
  return out;
}

int show(const sweep::Plan& plan, const std::string& folder) {
  const league::League league = league::rank(plan, folder);
  const sweep::Collected collected = sweep::collect(plan, folder, true);
  const std::string text = league_text(league);
  const auto path = [&](const char* name) { return (fs::path(folder) / name).string(); };
  write_file(path("league.txt"), text, kInFolder);
  write_file(path("league.csv"), league_csv(league), kInFolder);
  write_file(path("league.json"), league_json(league), kInFolder);
  fmt::print("\n{}\n", highlighted(text));
  for (const std::string& name : {path("league.txt"), path("league.csv"), path("league.json"), collected.database}) {
    fmt::print("{}\n", name);
  }
  if (league.failed + league.missing == 0) return kFine;
  say("uvmsim: {}: {} of {} runs failed, {} are missing; `uvmsim sweep run {}` tries them again", folder, league.failed,
      plan.points.size(), league.missing, folder);
  return kFailed;
}

int print_league(const Values& values) {
  const std::string& folder = values.first("league table: no folder given; `uvmsim league --help` shows examples");
  return show(sweep::read_plan(folder), folder);
}

int make_league_plan(const Values& values) {
  const std::string folder = output_of(values, "league plan");
  work_of(values);
  plan_and_write(values, folder);
  return kFine;
}

int whole_league(const Values& values) {
  const std::string folder = output_of(values, "league");
  const sweep::SweepRun work = work_of(values);
  const sweep::Plan plan = plan_and_write(values, folder);
  const int code = run_plan(plan, folder, work);
  return code == kInterrupted ? code : show(plan, folder);
}

CommandLine league_plan_line() {
  return {.usage = kLeagueUsage,
          .options = league_options(),
          .notes = kLeagueNotes,
          .most_arguments = kAnyNumber,
          .run = make_league_plan};
}

CommandLine league_table_line() {
  return {.usage = help_of(league_plan_line()),
          .options = {kHelp},
          .most_arguments = 1,
          .run = print_league,
          .lists_options = false};
}

}  // namespace

CommandLine league_command() {
  CommandLine line = league_plan_line();
  line.run = whole_league;
  line.verbs = {{"plan", "", league_plan_line}, {"table", "", league_table_line}};
  return line;
}

}  // namespace uvmsim::cli
