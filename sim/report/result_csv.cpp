// SPDX-License-Identifier: Apache-2.0
#include "sim/report/result_csv.h"

#include <fmt/format.h>

#include "sim/common/version.h"
#include "sim/formats/fields.h"
#include "sim/policy/registry.h"
#include "sim/report/numbers.h"

namespace uvmsim::report {
namespace {

std::string parameters_text(const policy::GivenParameters& parameters) {
  std::string text;
  for (const auto& [key, value] : parameters) text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value);
  return text;
}

std::string policy_text(const RunRecord& record, policy::Slot slot) {
  for (const PolicyUsed& policy : record.policies) {
    if (policy.slot != policy::slot_name(slot)) continue;
    return policy::with_parameters(policy.name, policy.parameters);
  }
  return is_always_named(slot) ? "" : driver_choice(slot).name;
}

// "none", "1.25" or "roofline".
std::string time_scale_text(const TimeScaleResult& scale) {
  if (scale.rule == TimeScaleRule::kFixed) return format_millionths(scale.factor_millionths);
  return time_scale_rule_name(scale.rule);
}

// How the run settled, the same in every row: empty where the trace marks no iterations.
ResultRow settled_fields(const std::optional<SettledIterations>& settled) {
  const auto number = [&](std::uint64_t value) { return settled->is_settled ? fmt::format("{}", value) : ""; };
  return {{"is_settled", settled ? (settled->is_settled ? "1" : "0") : ""},
          {"learning_iterations", settled ? number(settled->learning) : ""},
          {"settled_period", settled ? number(settled->period) : ""}};
}

// One row about an iteration, of those to quote or not, or (`quoted` is nothing) about the whole run.
ResultRow row_of(const RunRecord& record, const IterationResult& part, const std::optional<bool>& quoted,
                 const std::optional<SettledIterations>& settled) {
  ResultRow row = {
      {"uvmsim_version", version()},
      {"uvmsim_commit", commit()},
      {"model_version", record.provenance.model_version},
      {"command", record.provenance.command},
      {"trace", record.trace.name},
      {"trace_sha256", record.trace.sha256},
      {"system", record.options.system.name},
      {"system_sha256", record.provenance.system_sha256},
      {"layout", record.options.layout.name},
      {"layout_parameters", parameters_text(layout::resolve(record.options.layout).resolved())},
  };
  for (const policy::Slot slot : kPolicySlots) row.emplace_back(policy::slot_name(slot), policy_text(record, slot));
  const ResultRow rest = {
      {"seed", fmt::format("{}", record.options.seed)},
      {"include_host_gaps", record.options.include_host_gaps ? "1" : "0"},
      {"time_scale", time_scale_text(record.result.time_scale)},
      {"osf", format_thousandths(effective_osf_thousandths(record))},
      {"footprint_bytes", fmt::format("{}", record.result.footprint_bytes)},
      {"capacity_bytes", fmt::format("{}", record.result.capacity_bytes)},
      {"scope", quoted ? "iteration" : "total"},
      {"iteration", quoted ? fmt::format("{}", part.index) : ""},
      {"settled", !quoted   ? ""
                  : *quoted ? "1"
                            : "0"},
      {"begin_ns", fmt::format("{}", part.begin.value)},
      {"end_ns", fmt::format("{}", part.end.value)},
      {"duration_ns", fmt::format("{}", (part.end - part.begin).value)},
      {"ideal_ns", fmt::format("{}", part.ideal.value)},
  };
  row.insert(row.end(), rest.begin(), rest.end());
  for (auto& field : settled_fields(settled)) row.push_back(std::move(field));
  for_each_counter(part.counters,
                   [&](const char* name, std::uint64_t value) { row.emplace_back(name, fmt::format("{}", value)); });
  return row;
}

}  // namespace

std::vector<ResultRow> result_rows(const RunRecord& record) {
  std::vector<ResultRow> rows;
  const RunResult& result = record.result;
  const auto settled = settled_iterations(result);
  const QuotedIterations quoted = quoted_iterations(result);
  for (std::size_t i = 0; i < result.iterations.size(); ++i) {
    rows.push_back(row_of(record, result.iterations[i], quoted.contains(i), settled));
  }
  const IterationResult whole{0, {}, result.total, result.ideal, result.counters};
  rows.push_back(row_of(record, whole, std::nullopt, settled));
  return rows;
}

std::string result_csv_header() {
  std::vector<std::string> columns;
  for (const auto& [column, value] : row_of(RunRecord{}, {}, std::nullopt, std::nullopt)) columns.push_back(column);
  return fmt::format("{}\n", fmt::join(columns, ","));
}

std::string result_csv_rows(const RunRecord& record) {
  std::string text;
  for (const ResultRow& row : result_rows(record)) {
    std::vector<std::string> fields;
    for (const auto& [column, value] : row) fields.push_back(csv_field(value));
    text += fmt::format("{}\n", fmt::join(fields, ","));
  }
  return text;
}

}  // namespace uvmsim::report
