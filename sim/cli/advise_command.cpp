// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include "sim/advise/advise.h"
#include "sim/cli/commands.h"
#include "sim/cli/progress.h"
#include "sim/cli/result_output.h"
#include "sim/cli/run_options.h"
#include "sim/cli/say.h"
#include "sim/cli/scratch_folder.h"
#include "sim/cli/terminal.h"
#include "sim/cli/trace_llm.h"
#include "sim/cli/trace_runs.h"
#include "sim/common/error.h"
#include "sim/common/in_parallel.h"
#include "sim/config/calibration.h"
#include "sim/config/load_system.h"
#include "sim/edit/hints.h"
#include "sim/report/profile.h"
#include "sim/trace/validate.h"
#include "sim/trace/writer.h"

namespace uvmsim::cli {
namespace {

constexpr const char* kAdviseUsage = R"(uvmsim advise TRACE|CONFIG.json --system SYSTEM --osf X [options]

Searches for changes that make a program faster and leave its kernels alone: advice on memory, prefetch calls, memory
that stays on the host, discards, the allocator. Prints how much each change saves, how sure that is, and which lines to
add.

Examples:
  uvmsim advise workloads/alexnet.uvmt --system h200-sxm-pcie5 --osf 1.5 --output alexnet_advised.uvmt
      what would make AlexNet faster with two thirds of its memory, and the program with the changes for others to check
  uvmsim advise workloads/gpt2.uvmt --system a100-pcie-80g --osf 1.25 --json advise.json
      the same for a script

)";

constexpr const char* kAdviseNotes = R"(
Every figure is a simulated run of the changed program with the same GPU memory; the first is the program without
changes. Changes are tried one by one for the memory that kernels wait for longest. The best is kept, and the others
are tried on top of it; if none helps alone, pairs are tried. Of changes that are as good to 1 % the one with the fewest
lines is recommended, and none that saves less than 1 %.
"on other machines": the same with driver costs, link and host as fast and as slow as such machines differ; confidence
is high if both save at least half as much as here, and medium if both save something. "*": not settled.
`uvmsim trace hint` puts the printed rules into a trace, as --output does.
)";

// Runs the program with changes in it; each combination of changes runs once.
class Trials {
 public:
  Trials(const RunArguments& run, sweep::Point point, const report::RunRecord& base, TraceRuns& runs)
      : point_(std::move(point)), runs_(runs), progress_(run.verbose), scratch_("advise") {
    point_.osf_thousandths = 0;
    point_.capacity_bytes = base.result.capacity_bytes;
    point_.bounds = false;
    corners_ = config::corners_of(config::calibration_of(base.options.system, config::default_search_path()).kind);
  }

  const std::string& varied() const { return corners_.text; }

  std::vector<advise::Measured> measure(const std::string& step, const std::vector<advise::Trial>& trials) {
    std::vector<const advise::Trial*> missing;
    for (const advise::Trial& trial : trials) {
      if (known_.try_emplace(key_of(trial)).second) missing.push_back(&trial);
    }
    progress_.begin(step, missing.size());
    const auto report = progress_.reporter();
    std::mutex mutex;
    std::uint64_t done = 0;
    in_parallel(missing.size(), available_cpus(), [&](std::size_t i) {
      const advise::Measured measured = run(*missing[i], [&](std::uint64_t) {
        const std::lock_guard lock(mutex);
        report(done);
      });
      const std::lock_guard lock(mutex);
      known_[key_of(*missing[i])] = measured;
      report(++done);
    });
    progress_.end();
    std::vector<advise::Measured> out;
    for (const advise::Trial& trial : trials) out.push_back(known_.at(key_of(trial)));
    return out;
  }

  // Writes the program with the calls that the rules add.
  void write(const std::vector<trace::HintRule>& rules, const std::string& file, const std::string& note) {
    sweep::TraceInput& input = runs_.resolver().trace(point_);
    trace::Header header = input.header();
    if (!note.empty()) header.provenance += (header.provenance.empty() ? "" : "; ") + note;
    trace::TraceWriter writer(file, header);
    const RecordSource source = input.play();
    trace::HintedProgram program(source, header, rules, trace::kNoObject);  // no rule makes objects
    trace::Record record;
    while (program.next(record)) writer.write(record);
    writer.finish();
  }

 private:
  static std::string key_of(const advise::Trial& trial) {
    std::string key = std::to_string(static_cast<int>(trial.machine));
    for (const advise::Change* change : trial.changes) key += "|" + advise::effect_of(*change);
    return key;
  }

  advise::Measured run(const advise::Trial& trial, const sweep::ReadProgress& progress) {
    sweep::Point point = point_;
    std::vector<trace::HintRule> rules;
    for (const advise::Change* change : trial.changes) {
      rules.insert(rules.end(), change->rules.begin(), change->rules.end());
      if (!change->layout.empty()) point.layout = change->layout;
    }
    if (trial.machine != advise::Machine::kThis) {
      const auto& settings = trial.machine == advise::Machine::kFastest ? corners_.fast : corners_.slow;
      point.settings.insert(point.settings.end(), settings.begin(), settings.end());
    }
    const std::string file = scratch_.file(fmt::format("{}.uvmt", next_file_++));
    if (!rules.empty()) {
      write(rules, file, "");
      point.trace = file;
      point.partial = false;
    }
    constexpr std::uint64_t kLargestKept = std::uint64_t{256} << 20;
    sweep::Resolver resolver(kLargestKept);
    const report::RunRecord record = sweep::run_point(point, resolver, progress);
    if (!rules.empty()) std::filesystem::remove(file);
    const auto settled = report::settled_iterations(record.result);
    return {report::quoted_ns(record.result), !settled || settled->is_settled};
  }

  sweep::Point point_;
  TraceRuns& runs_;
  Progress progress_;
  const ScratchFolder scratch_;
  config::Corners corners_;
  std::map<std::string, advise::Measured> known_;
  std::atomic<int> next_file_ = 0;
};

int advise_program(const Values& values) {
  std::string trace = values.first(
      "advise: no trace given; `uvmsim advise TRACE --system SYSTEM --osf X`, `uvmsim advise --help` shows examples");
  const ScratchFolder scratch("advise");
  if (is_model_config(trace)) trace = trace_of_config(trace, scratch);
  if (trace == "-") throw_input_error("advise: standard input cannot be read for each run; give a file");
  RunArguments run = read_program_options("advise", values);
  run.shared.trace = trace;
  run.verbose = values.given("verbose");
  if (run.osf_thousandths.size() + (run.capacity_bytes != 0 ? 1 : 0) != 1) {
    throw_input_error("advise is about one run; give one --osf, or --capacity-bytes");
  }
  if (run.seeds > 1) throw_input_error("advise is about one run; give --seed, not --seeds");
  const auto output = values.text("output");
  if (output && trace::format_of_path(*output) != trace::TraceFormat::kUvmt) {
    throw_input_error("--output {}: allowed: names that end in .uvmt", *output);
  }
  ResultOutput json(values.text("json"));
  TraceRuns runs(run);
  runs.measure();

  const sweep::Point point = points_of(run).front();
  const sweep::Point baseline = runs.fitting_baseline(point);
  sweep::Point knowing = point;
  knowing.evict = {"min_kernel", {}};
  const std::string profile_path = scratch.file("profile.sqlite");
  report::Profile profile(profile_path);
  std::vector<report::RunRecord> records = runs.compute(
      sweep::run_points, "the program as it is",
      {{runs.resolve(point), &profile}, {runs.resolve(baseline), nullptr}, {runs.resolve(knowing), nullptr}});
  records[0].unlimited = report::as_unlimited(records[1]);
  profile.finish(records[0]);

  sweep::TraceInput& input = runs.resolver().trace(point);
  advise::Memory memory = advise::read_memory(input.header().quantum_bytes, input.play());
  advise::add_waits(memory, profile_path, records[0]);
  Trials trials(run, point, records[0], runs);
  const advise::Measure measure = [&](const std::string& step, const std::vector<advise::Trial>& some) {
    return trials.measure(step, some);
  };
  advise::Answer answer = advise::advise(std::move(records[0]), memory, point.layout, measure);
  answer.knowing_ns = report::quoted_ns(records[2].result);
  answer.varied = trials.varied();
  if (output) trials.write(answer.rules(), *output, "changes of uvmsim advise put in");
  if (json.wanted()) json.write(advise::advise_json(answer));
  if (values.text("json") != "-") fmt::print("{}", with_headline(STDOUT_FILENO, advise::advise_text(answer)));
  return 0;
}

std::vector<Option> advise_options() {
  std::vector<Option> options = cli::program_options();
  options.push_back({"output,o", "FILE", "write the program with the changes, as .uvmt"});
  options.push_back({"json", "FILE", "write the answer as JSON; - is standard output"});
  options.push_back(kVerbose);
  options.push_back(kHelp);
  return options;
}

}  // namespace

CommandLine advise_command() {
  return {.usage = kAdviseUsage,
          .options = advise_options(),
          .notes = kAdviseNotes,
          .most_arguments = 1,
          .run = advise_program};
}

}  // namespace uvmsim::cli
