// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/common/plain_text.h"
#include "sim/common/version.h"
#include "sim/fit/fit.h"
#include "sim/formats/wrapped.h"
#include "sim/report/numbers.h"

namespace uvmsim::fit {
namespace {

using Json = nlohmann::ordered_json;
using report::format_bytes;
using report::format_factor;
using report::format_ms;
using report::format_thousandths;

constexpr std::size_t kHang = 2;

// Returns whether the run and its baseline have settled.
bool has_settled(const report::RunRecord& record) {
  const auto settled = report::settled_iterations(record.result);
  return (!settled || settled->is_settled) && record.unlimited->is_settled;
}

std::uint64_t osf_of(const Machine& machine) {
  return report::ratio_thousandths(machine.run.result.footprint_bytes, machine.run.result.capacity_bytes);
}

const char* mark(bool is_settled) { return is_settled ? "" : "*"; }

std::string change_text(const Machine& machine, std::size_t which) {
  if (machine.changes.empty()) return "-";
  const Change& change = machine.changes[which];
  return format_thousandths(change.slowdown_thousandths) + mark(change.is_settled);
}

std::string affordable_text(const Machine& machine) {
  const std::uint64_t factor = machine.affordable_osf_thousandths;
  return factor == kLargestOsfThousandths ? "at least " + format_factor(factor) : format_factor(factor);
}

// Describes how the kernels' times were converted to this GPU.
std::string kernels_text(const Machine& machine) {
  const TimeScaleResult& scale = machine.run.result.time_scale;
  const std::string recorded = plain_text(scale.recorded_on.empty() ? "an unknown GPU" : scale.recorded_on);
  const bool same_gpu = scale.recorded_on == machine.run.options.system.gpus.front().model;
  switch (same_gpu ? TimeScaleRule::kNone : scale.rule) {
    case TimeScaleRule::kFixed:
      return fmt::format("kernels times {}", report::format_millionths(scale.factor_millionths));
    case TimeScaleRule::kRoofline:
      return "kernels scaled by a roofline from " + recorded;
    default:
      return "kernels as recorded on " + recorded;
  }
}

Json change_json(const Change& change) {
  return {{"what", change.what},
          {"time_ns", change.time_ns},
          {"slowdown_thousandths", change.slowdown_thousandths},
          {"is_settled", change.is_settled}};
}

Json machine_json(const Machine& machine) {
  const report::RunRecord& run = machine.run;
  const report::Uncertainty& range = *run.uncertainty;
  Json out = {
      {"system", run.options.system.name},
      {"gpu", run.options.system.gpus.front().model},
      {"system_sha256", run.provenance.system_sha256},
      {"calibration", config::calibration_name(machine.calibration.kind)},
      {"calibration_from", machine.calibration.from},
      {"varied", range.varied},
      {"memory_bytes", run.result.capacity_bytes},
      {"footprint_bytes", run.result.footprint_bytes},
      {"osf_thousandths", osf_of(machine)},
      {"fits", machine.fits},
      {"kernels", kernels_text(machine)},
      {"time_ns", report::quoted_ns(run.result)},
      {"low_ns", range.low_ns},
      {"high_ns", range.high_ns},
      {"is_settled", has_settled(run)},
      {"slowdown_thousandths", report::slowdown_thousandths(run)},
      {"low_slowdown_thousandths", range.low_slowdown_thousandths},
      {"high_slowdown_thousandths", range.high_slowdown_thousandths},
      {"baseline_ns", run.unlimited->settled.value != 0 ? run.unlimited->settled.value : run.unlimited->total.value},
      {"baseline_hypothetical", run.unlimited->hypothetical},
      {"is_within_budget", machine.is_within_budget},
      {"affordable_osf_thousandths", machine.affordable_osf_thousandths},
      {"needed_bytes", machine.needed_bytes()},
      {"changes", Json::array()}};
  for (const Change& change : machine.changes) out["changes"].push_back(change_json(change));
  return out;
}

}  // namespace

std::string fit_text(const Answer& answer) {
  const Machine& first = answer.machines.front();
  const std::string budget = format_factor(answer.request.budget_thousandths);
  std::string text =
      wrapped_line(fmt::format("{}: needs {} at its peak, layout {}. Budget: {} times as long as with room for all.",
                               plain_text(first.run.trace.name), format_bytes(first.run.result.footprint_bytes),
                               plain_text(answer.request.program.layout), budget),
                   kHang);
  text += "\n\n";
  std::vector<std::string> header = {"system",     "GPU memory", "factor", "verdict",        "time (ms)",
                                     "range (ms)", "slowdown",   "range",  "largest factor", "memory needed"};
  const bool has_changes =
      std::ranges::any_of(answer.machines, [](const Machine& machine) { return !machine.changes.empty(); });
  if (has_changes) header.insert(header.end(), {"link x2", "memory x2"});
  TextTable table(header);
  for (const Machine& machine : answer.machines) {
    const report::RunRecord& run = machine.run;
    const report::Uncertainty& range = *run.uncertainty;
    const char* unsettled = mark(has_settled(run));
    std::vector<std::string> row = {run.options.system.name,
                                    format_bytes(run.result.capacity_bytes),
                                    format_thousandths(osf_of(machine)),
                                    machine.fits               ? "fits"
                                    : machine.is_within_budget ? "in budget"
                                                               : "too slow",
                                    format_ms(report::quoted_ns(run.result)) + unsettled,
                                    fmt::format("{}-{}", format_ms(range.low_ns), format_ms(range.high_ns)),
                                    format_thousandths(report::slowdown_thousandths(run)) + unsettled,
                                    fmt::format("{}-{}", format_thousandths(range.low_slowdown_thousandths),
                                                format_thousandths(range.high_slowdown_thousandths)),
                                    affordable_text(machine),
                                    format_bytes(machine.needed_bytes())};
    if (has_changes) row.insert(row.end(), {change_text(machine, 0), change_text(machine, 1)});
    table.add_row(std::move(row));
  }
  text += table.text(true) + "\n";
  for (const Machine& machine : answer.machines) {
    text +=
        wrapped_line(fmt::format("{}: {}; {}; driver costs {}; range: {}", plain_text(machine.run.options.system.name),
                                 plain_text(machine.run.options.system.gpus.front().model), kernels_text(machine),
                                 config::calibration_text(machine.calibration), machine.run.uncertainty->varied),
                     kHang) +
        "\n";
  }
  const bool unsettled = std::ranges::any_of(answer.machines, [](const Machine& machine) {
    return !has_settled(machine.run) ||
           std::ranges::any_of(machine.changes, [](const Change& c) { return !c.is_settled; });
  });
  if (unsettled) text += "* has not settled, or its baseline has not: a mean of the later half of the passes\n";
  text += wrapped_line(
              "Ranges hold no error of kernels' times. Largest factor: footprint / memory up to which a program like "
              "this stays within the budget, to 0.05; memory needed: this footprint / that factor; link x2, memory x2: "
              "the slowdown with that alone changed.",
              kHang) +
          "\n";
  return text;
}

std::string fit_json(const Answer& answer) {
  const report::RunRecord& first = answer.machines.front().run;
  Json out = {{"schema", "uvmsim.fit/1"},
              {"uvmsim_version", version()},
              {"uvmsim_commit", commit()},
              {"model_version", first.provenance.model_version},
              {"trace", {{"file", first.trace.name}, {"sha256", first.trace.sha256}}},
              {"layout", answer.request.program.layout},
              {"budget_thousandths", answer.request.budget_thousandths},
              {"machines", Json::array()}};
  for (const Machine& machine : answer.machines) out["machines"].push_back(machine_json(machine));
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace uvmsim::fit
