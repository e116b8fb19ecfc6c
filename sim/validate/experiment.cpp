// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/experiment.h"

#include <algorithm>
#include <set>

#include "sim/common/error.h"
#include "sim/formats/json_fields.h"
#include "sim/trace/input.h"
#include "sim/trace/line_reader.h"
#include "sim/validate/experiment_parser.h"

namespace uvmsim::validate {

namespace {

// Checks that cold runs exist; one that only --only leaves out is no error.
void check_cold_runs(const ExperimentFile& file) {
  for (const Experiment& experiment : file.experiments) {
    if (!experiment.campaign || !experiment.campaign->steady || experiment.campaign->steady->cold_run.empty()) continue;
    const std::string& cold = experiment.campaign->steady->cold_run;
    const auto is_it = [&](const Experiment& other) { return other.campaign && other.name == cold; };
    if (std::ranges::none_of(file.experiments, is_it)) {
      throw_input_error("{}: line {}: 'cold_run' names '{}', which is no campaign of this file", file.path,
                        experiment.line, cold);
    }
  }
}

ExperimentFile read_all(trace::Input& input, const std::string& path) {
  ExperimentFile file;
  file.path = path;
  trace::LineReader lines(input);
  std::set<std::string> unknown;  // sorted, so that the warnings do not depend on the order of the experiments
  std::string_view line;
  try {
    while (lines.next(line)) {
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      Experiment experiment = parse_experiment(parse_json_line(line), unknown);
      experiment.line = lines.line_number();
      file.experiments.push_back(std::move(experiment));
    }
  } catch (const InputError& error) {
    throw_input_error("{}: line {}: {}", path, std::max<std::uint64_t>(lines.line_number(), 1), error.what());
  }
  if (file.experiments.empty()) {
    throw_input_error("{}: no experiments; expected JSON lines as sim/validate/README.md describes", path);
  }
  check_cold_runs(file);
  for (const std::string& text : unknown) file.warnings.push_back(path + ": " + text);
  return file;
}

}  // namespace

ExperimentFile read_experiments(const std::string& path) {
  trace::Input input = trace::Input::from_file(path);
  return read_all(input, path);
}

ExperimentFile parse_experiments(std::string_view text, const std::string& path) {
  trace::Input input = trace::Input::from_memory(text);
  return read_all(input, path);
}

using Class = ExperimentClass;
const std::array<ModeInfo, kModes> kModeTable{{
    {"ordered", Class::kOrdered},
    {"", Class::kParallel},  // followed by the threads of a block
    {"stream_rd", Class::kParallel},
    {"stream_wr", Class::kParallel},
    {"vadd", Class::kParallel},
    {"cpu", Class::kCpu},
    {"prefetch", Class::kPrefetch},
    {"", Class::kLibrary},
    {"", Class::kRemote},
    {"", Class::kCampaign},
}};

}  // namespace uvmsim::validate
