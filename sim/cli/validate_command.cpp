// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "sim/cli/progress.h"
#include "sim/cli/result_output.h"
#include "sim/cli/say.h"
#include "sim/common/error.h"
#include "sim/common/file_lock.h"
#include "sim/config/load_system.h"
#include "sim/validate/validation.h"
#include "sim/validate/validation_report.h"

namespace uvmsim::cli {
namespace {

constexpr std::size_t kMostValidationFiles = 100;

constexpr const char* kValidationUsage = R"(uvmsim validate EXPERIMENTS... --system SYSTEM [options]

Replays experiments that were measured on a real GPU and prints measured against simulated for each. EXPERIMENTS are
files of JSON lines, plain or zstd-compressed; sim/validate/README.md describes its three formats, so that you can
measure your own GPU. - is standard input.

Examples:
  uvmsim validate tests/ground_truth/data/uvm_h200_dev.jsonl.zst --system h200-sxm-pcie5
      every experiment, the summary by class and what is outside the tolerances
  uvmsim validate tests/ground_truth/data/uvm_h200_dev.jsonl.zst --system h200-sxm-pcie5 --only 'seq_s*_r_host'
      some of them
  uvmsim validate mine.jsonl --system mine.json --tolerance ordered_time=40 --json -
      another system, more tolerance in time, for a script
  uvmsim validate tests/ground_truth/data/oversubscribed_rtx4080.jsonl --system rtx4080-pcie4 --only 'P1_R3'
      a program that others ran beyond GPU memory, step by step

)";

constexpr const char* kValidationNotes = R"(
A run under CUPTI judges which pages moved. Runs without CUPTI judge the times, because CUPTI makes kernels up to 2.5
times slower. Where a file has no such runs, its times are marked (observed) and the model adds the cost of CUPTI
(`uvmsim systems SYSTEM`: listener).

Tolerances are percentages of the measured value: ordered_time (20), ordered_time_median (8), parallel_bytes (3),
parallel_batches (30), parallel_transactions (30), parallel_time (25), parallel_time_median (10), library_bytes (3),
library_batches (30), library_batches_median (12), library_time (30), library_time_median (12). Where one GPU thread
touches page after page (`ordered`), faulting pages and transactions must be the same one by one; where the CPU takes
part or pages are prefetched, the bytes of each direction must be. Programs beyond GPU memory (`campaign`) have limits
of their own in their file.
Exit code: 0 all within the tolerances, 1 something outside, 2 an error in the input.
)";

// Returns the file's text; empty if there is no file.
std::string existing_text(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw_input_error("cannot write {}: it is a folder", path);
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Sets one tolerance in percent, with at most one digit after the point: "ordered_time=25".
void set_tolerance(validate::Tolerances& tolerances, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) throw_input_error("--tolerance: '{}' is not NAME=PERCENT", assignment);
  const std::string name = assignment.substr(0, equals), text = assignment.substr(equals + 1);
  for (const validate::NamedTolerance& known : validate::kTolerances) {
    if (name != known.name) continue;
    double percent = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
    if (error != std::errc() || end != text.data() + text.size() || !(percent >= 0 && percent <= 1000)) {
      throw_input_error("--tolerance: {}: '{}' is no percentage; allowed: 0 to 1000", name, text);
    }
    tolerances.*known.value = percent;
    return;
  }
  std::string allowed;
  for (const validate::NamedTolerance& known : validate::kTolerances) {
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", known.name);
  }
  throw_input_error("--tolerance: unknown tolerance '{}'; allowed: {}", name, allowed);
}

int run_experiments(const Values& values) {
  values.first("no file of experiments given; `uvmsim validate --help` shows examples");
  const std::string system_name =
      values.required("system", "--system is missing: a name that `uvmsim systems` lists, or the path of a file");

  validate::ValidationOptions choices;
  for (const std::string& assignment : values.texts("tolerance")) set_tolerance(choices.tolerances, assignment);
  choices.only = values.text("only").value_or("*");
  choices.observed = values.given("observed");
  config::SystemConfig system = config::load_system(system_name);
  config::apply_overrides(system, values.texts("set"));
  const std::optional<std::string> json = values.text("json"), markdown = values.text("markdown");
  if (json == "-" && markdown == "-") throw_input_error("--json and --markdown cannot both go to standard output");

  if (markdown && markdown != "-") validate::with_table(existing_text(*markdown), "");  // throws if one mark is missing
  ResultOutput json_output(json), markdown_output(markdown);

  std::vector<validate::ExperimentFile> experiments;
  for (const std::string& path : values.arguments()) experiments.push_back(validate::read_experiments(path));
  Progress progress(values.given("verbose"));
  std::size_t count = 0;
  for (const validate::ExperimentFile& file : experiments) count += file.experiments.size();
  progress.begin("experiments", count);
  choices.progress = [report = progress.reporter()](std::size_t index, std::size_t) { report(index); };
  const validate::Validation validation = validate::validate(experiments, system, choices);
  progress.end();
  for (const std::string& warning : validation.warnings) warn("{}", warning);

  if (json != "-" && markdown != "-") fmt::print("{}", validate::validation_text(validation));
  if (json) json_output.write(validate::validation_json(validation));
  if (markdown) {
    // The file is read again: another command may have written its tables meanwhile.
    std::optional<FileLock> lock;
    if (markdown != "-") lock.emplace(*markdown);
    const std::string present = markdown == "-" ? "" : existing_text(*markdown);
    markdown_output.write(validate::with_table(present, validate::validation_markdown(validation)));
  }
  return validation.within() ? 0 : 1;
}

}  // namespace

CommandLine validate_command() {
  return {.usage = kValidationUsage,
          .options = {{"system", "SYSTEM", "the GPU server: a name, or the path of a JSON file"},
                      {"only", "PATTERN", "only experiments whose name matches; * and ? are wildcards"},
                      {"observed", "", "judge by the times of runs under CUPTI, also where others were measured"},
                      {"tolerance", "NAME=PERCENT", "change one tolerance; may be repeated", kRepeatable},
                      kSettings,
                      {"json", "FILE", "write everything as JSON; - is standard output"},
                      {"markdown", "FILE",
                       "write the tables as Markdown, into a file that has the lines <!-- validate:begin --> and "
                       "<!-- validate:end --> between these; - is standard output"},
                      kVerbose,
                      kHelp},
          .notes = kValidationNotes,
          .most_arguments = kMostValidationFiles,
          .run = run_experiments};
}

}  // namespace uvmsim::cli
