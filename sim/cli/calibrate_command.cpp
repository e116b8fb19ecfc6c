// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <optional>

#include "sim/cli/progress.h"
#include "sim/cli/say.h"
#include "sim/common/atomic_file.h"
#include "sim/common/error.h"
#include "sim/common/sha256.h"
#include "sim/config/load_system.h"
#include "sim/config/system_text.h"
#include "sim/formats/fields.h"
#include "sim/validate/calibrate.h"

namespace uvmsim::cli {
namespace {

constexpr std::size_t kMostCalibrationFiles = 100;
constexpr const char* kDefaultSystem = "h200-sxm-pcie5";
constexpr std::size_t kHashDigits = 16;

constexpr const char* kCalibrateUsage = R"(uvmsim calibrate EXPERIMENTS... [--system BASE] [--output NEW.json] [options]

Fits the parameters in which a machine differs from others with the same GPU (the host's speed, the link, the time of
the first fault) to experiments that were measured on it. EXPERIMENTS are files as `uvmsim validate` reads them;
tracer/ground_truth makes them on your GPU. Prints the errors before and after and every parameter, old and new.
Everything that is not fitted stays as in BASE: set your GPU's memory, SMs and rates there first.

Examples:
  uvmsim calibrate mine.jsonl --system h200-sxm-pcie5 --output my-server.json
      a new system from h200-sxm-pcie5's GPU and this machine's costs
  uvmsim calibrate mine.jsonl --holdout 4
      every fourth experiment kept back, to see whether the fit holds for what it has not seen
  uvmsim calibrate mine.jsonl --parameters costs.batch_ns,costs.after_copies_ns,costs.replay_ns

)";

// Names a file in the fitted system's description: "mine.jsonl (sha256 0123456789abcdef)"
std::string source_of(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return fmt::format("{} (sha256 {})", name, sha256_of_file(path).substr(0, kHashDigits));
}

int calibrate(const Values& values) {
  values.first("no file of experiments given; `uvmsim calibrate --help` shows examples");
  const config::SystemConfig base = config::load_system(values.text("system").value_or(kDefaultSystem));
  validate::CalibrationOptions choices;
  if (const auto keys = values.text("parameters")) {
    choices.parameters = split(*keys, ',');
    if (choices.parameters.empty()) throw_input_error("--parameters: none named");
  }
  choices.only = values.text("only").value_or("*");
  choices.holdout = static_cast<std::uint32_t>(values.number("holdout", 0, {2, 1000000, ""}));
  choices.rounds = static_cast<std::uint32_t>(values.number("rounds", choices.rounds, {1, 20, ""}));

  const std::optional<std::string> target = values.text("output");
  if (target && !target->ends_with(".json")) throw_input_error("--output: '{}' does not end in .json", *target);
  std::optional<AtomicFile> output;
  if (target) output.emplace(*target);

  std::vector<validate::ExperimentFile> experiments;
  std::string source;
  for (const std::string& path : values.arguments()) {
    if (path == "-") throw_input_error("standard input has no name that a system could refer to; give a file");
    experiments.push_back(validate::read_experiments(path));
    source += (source.empty() ? "" : ", ") + source_of(path);
    for (const std::string& warning : experiments.back().warnings) warn("{}", warning);
  }
  Progress progress(values.given("verbose"));
  std::string step;
  choices.progress = [&, report = progress.reporter()](std::string_view what, std::uint64_t evaluations) {
    if (what != step) {
      if (!step.empty()) progress.end();
      step = what;
      progress.begin(step, 0);
    }
    report(evaluations);
  };
  validate::Calibration calibration = validate::calibrate(experiments, base, source, choices);
  progress.end();
  fmt::print("{} fitted to {}\n\n{}", base.name, source, validate::calibration_text(calibration));
  if (output) {
    calibration.system.name = std::filesystem::path(*target).stem().string();
    calibration.system.description =
        fmt::format("{}; costs calibrated from {}, base {}", base.description, source, base.name);
    output->write(config::resolved_json(calibration.system));
    output->commit();
    fmt::print("\nwritten: {}\n", *target);
  }
  return 0;
}

}  // namespace

CommandLine calibrate_command() {
  return {.usage = kCalibrateUsage,
          .options = {{"system", "BASE",
                       "the system to start from: a name, or the path of a JSON file; default h200-sxm-pcie5"},
                      {"output,o", "FILE", "write the fitted system, which stands alone; ends in .json"},
                      {"parameters", "KEYS",
                       "what to fit, separated by commas, as `uvmsim systems BASE` names it; default one factor for "
                       "all costs of the driver, wake-ups, the first fault and the link"},
                      {"holdout", "N",
                       "keep every Nth experiment back and report it apart; repeats of one experiment stay together"},
                      {"only", "PATTERN", "only experiments whose name matches; * and ? are wildcards"},
                      {"rounds", "N", "of the descent, 1 to 20, default 7"},
                      kVerbose,
                      kHelp},
          .most_arguments = kMostCalibrationFiles,
          .run = calibrate};
}

}  // namespace uvmsim::cli
