// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "sim/cli/progress.h"
#include "sim/cli/result_output.h"
#include "sim/cli/run_summary.h"
#include "sim/common/error.h"
#include "sim/formats/wrapped.h"
#include "sim/report/event_fan.h"
#include "sim/report/numbers.h"
#include "sim/report/profile.h"
#include "sim/report/timeline.h"
#include "sim/sweep/run_scenario.h"

namespace uvmsim::cli {
namespace {

using scenario::ProgramOutcome;
using scenario::Scenario;

// Traces up to this size stay in memory, as every program is replayed again alone to compare with.
constexpr std::uint64_t kLargestScenarioTrace = std::uint64_t{256} << 20;

constexpr const char* kScenarioUsage = R"(uvmsim scenario FILE.json [options]

Runs several programs at once on one server, on GPUs of their own or on the same one, and says how much slower they are
than alone, and who evicts whom.

Examples:
  uvmsim scenario configs/scenarios/two_programs.json
      GPT-2 beside ResNet-50 that runs all the time
  uvmsim scenario configs/scenarios/four_programs.json --json result.json --timeline timeline.json.gz
      all numbers for a script; a timeline for ui.perfetto.dev
  uvmsim scenario configs/scenarios/shared_two_trainings.json --no-alone --profile p.sqlite
      two programs on one GPU: who of each faulted, waited and moved, in p.0.sqlite and p.1.sqlite

)";

constexpr const char* kScenarioNotes = R"(
The file: configs/scenarios/README.md and configs/scenario.schema.json. The programs share the bandwidth of the host's
memory and of links that several GPUs hang on. Programs that name the same GPU share its memory, its driver's thread and,
in turns or side by side ("sharing"), its processors. "alone" is the same program by itself
on the same server with the same settings. Times and counters are those of the settled iterations, as in `uvmsim run`,
or of the whole run of a program that marks none. A program that is repeated is cut off when the others have ended; it
is compared with as many iterations alone as it had done.
)";

// Returns the profile's path for one program: "p.sqlite" -> "p.0.sqlite".
std::string profile_path(const std::string& path, std::size_t program) {
  const std::filesystem::path whole(path);
  const std::string name = fmt::format("{}.{}{}", whole.stem().string(), program, whole.extension().string());
  return (whole.parent_path() / name).string();
}

// The outputs for events: a timeline of all programs, and a profile of each.
class ScenarioOutputs {
 public:
  ScenarioOutputs(const Scenario& scenario, const std::optional<std::string>& timeline,
                  const std::optional<std::string>& profile)
      : scenario_(scenario) {
    if (timeline) timeline_ = std::make_unique<report::Timeline>(*timeline);
    for (std::size_t i = 0; i < scenario.programs.size(); ++i) {
      std::vector<EventSink*> sinks;
      if (timeline_) sinks.push_back(timeline_->of_program(scenario.programs[i].name));
      if (profile) {
        profiles_.push_back(std::make_unique<report::Profile>(profile_path(*profile, i)));
        sinks.push_back(profiles_.back().get());
      }
      events_.push_back(std::make_unique<report::EventFan>(std::move(sinks)));
    }
  }

  // Returns null if no output needs events.
  EventSink* events(std::size_t program) const {
    return timeline_ || !profiles_.empty() ? events_[program].get() : nullptr;
  }

  void finish(const std::vector<ProgramOutcome>& outcomes) {
    if (timeline_) timeline_->finish(nullptr);
    for (std::size_t i = 0; i < profiles_.size(); ++i) {
      profiles_[i]->finish(outcomes[i].together, scenario_.programs[i].start);
    }
  }

 private:
  const Scenario& scenario_;
  std::unique_ptr<report::Timeline> timeline_;
  std::vector<std::unique_ptr<report::Profile>> profiles_;
  std::vector<std::unique_ptr<report::EventFan>> events_;
};

// Says which program evicts whose memory on shared GPUs, and how fair that is.
std::string sharing_of(const Scenario& scenario, const std::vector<ProgramOutcome>& outcomes) {
  std::string text;
  if (const auto fair = scenario::fairness(outcomes); fair && outcomes.size() > 1) {
    text += fmt::format("\nunfairness (largest over smallest slowdown) {}, weighted speed-up {} of {}\n",
                        report::format_thousandths(fair->unfairness_thousandths),
                        report::format_thousandths(fair->weighted_speedup_thousandths), outcomes.size());
  }
  std::vector<std::string> head{"evictions by"};
  for (const auto& program : scenario.programs) head.push_back("of " + program.name);
  TextTable matrix(head);
  bool shared = false;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const std::vector<std::uint64_t>& taken = outcomes[i].together.result.evicted_from;
    if (taken.empty()) continue;
    shared = true;
    std::vector<std::string> row{scenario.programs[i].name};
    for (const std::uint64_t count : taken) row.push_back(report::format_count(count));
    matrix.add_row(row);
  }
  if (!shared) return text;
  const scenario::Ends ends = scenario::ends_of(scenario, outcomes);
  text += fmt::format("the last program ends after {} ms; no policy and no schedule can end it before {} ms\n",
                      report::format_ms(ends.last), report::format_ms(ends.bound));
  return text +
         fmt::format("\nGPUs that several programs use: {}; evictions of the whole run:\n\n",
                     scenario::sharing_name(scenario.sharing)) +
         matrix.text(true);
}

std::string table_of(const Scenario& scenario, const std::vector<ProgramOutcome>& outcomes) {
  TextTable table({"program", "GPUs", "alone (ms)", "together (ms)", "slowdown", "iterations", "fault batches",
                   "HtoD (GiB)", "DtoH (GiB)", "between GPUs (GiB)", "evictions"});
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const ProgramOutcome& outcome = outcomes[i];
    const RunResult& result = outcome.together.result;
    const auto settled = report::settled_iterations(result);
    const Counters& c = settled ? settled->counters : result.counters;
    const std::uint64_t slowdown = scenario::slowdown_thousandths(outcome);  // 0: none
    table.add_row(
        {scenario.programs[i].name, fmt::format("{}", fmt::join(scenario.programs[i].gpus, ",")),
         outcome.alone ? report::format_ms(scenario::compared_time(*outcome.alone)) : "-",
         report::format_ms(scenario::compared_time(outcome.together)),
         slowdown == 0 ? "-" : report::format_thousandths(slowdown), report::format_count(result.iterations.size()),
         report::format_count(c.fault_batches), report::format_gib(c.htod_bytes()), report::format_gib(c.dtoh_bytes()),
         report::format_gib(c.dtod_fault_bytes + c.dtod_prefetch_bytes + c.dtod_user_bytes + c.dtod_evict_bytes),
         report::format_count(c.evictions)});
  }
  const report::RunRecord& first = outcomes.front().together;
  std::string text =
      fmt::format("{} programs on {}\n", outcomes.size(), first.options.system.name) + policies_text(first);
  return text + "numbers per iteration, of the settled ones; of the whole run where none is marked\n\n" +
         table.text(true) + sharing_of(scenario, outcomes);
}

int run_together(const Values& values) {
  if (values.given("schema")) {
    fmt::print("{}", scenario::scenario_schema());
    return 0;
  }
  const std::string& file = values.first("scenario: no scenario file given; `uvmsim scenario --help` shows examples");
  const auto json = values.text("json"), timeline = values.text("timeline"), profile = values.text("profile");
  for (const auto& [option, path] : {std::pair{"--timeline", &timeline}, std::pair{"--profile", &profile}}) {
    if (*path == "-") throw_input_error("{}: standard output is not possible; allowed: a file", option);
  }
  const Scenario scenario = scenario::read_scenario(file);
  NamedOutputs written{{"--json", json}, {"--timeline", timeline}};
  for (std::size_t i = 0; profile && i < scenario.programs.size(); ++i) {
    written.emplace_back("--profile", profile_path(*profile, i));
  }
  check_outputs(written);
  ResultOutput output(json);
  ScenarioOutputs outputs(scenario, timeline, profile);

  Progress progress(values.given("verbose"));
  scenario::ScenarioChoices choices;
  choices.alone = !values.given("no-alone");
  choices.events = [&](std::size_t i) { return outputs.events(i); };
  choices.progress = progress.reporter();
  progress.begin(file, 0);
  sweep::Resolver resolver(kLargestScenarioTrace);
  const auto outcomes = scenario::run_scenario(scenario, resolver, choices);
  progress.end();

  if (output.wanted()) output.write(scenario::scenario_json(scenario, outcomes));
  outputs.finish(outcomes);
  if (json != "-") fmt::print("{}", table_of(scenario, outcomes));
  return 0;
}

}  // namespace

CommandLine scenario_command() {
  return {.usage = kScenarioUsage,
          .options = {{"json", "FILE", "write results as JSON; - is standard output"},
                      {"timeline", "FILE", "write a timeline of the programs together for ui.perfetto.dev"},
                      {"profile", "FILE",
                       "write for each program together an SQLite file of who faulted, waited and moved, as `uvmsim "
                       "run --profile`; p.sqlite is p.0.sqlite, p.1.sqlite, ... in the order of the scenario"},
                      {"no-alone", "", "do not also run each program alone to compare with"},
                      {"schema", "", "print the JSON schema of scenario files"},
                      kVerbose,
                      kHelp},
          .notes = kScenarioNotes,
          .most_arguments = 1,
          .run = run_together};
}

}  // namespace uvmsim::cli
