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

// Formats "none", "1.25" or "roofline".
std::string time_scale_text(const TimeScaleResult& scale) {
  if (scale.rule == TimeScaleRule::kFixed) return format_millionths(scale.factor_millionths);
  return time_scale_rule_name(scale.rule);
}

std::string flag(const std::optional<bool>& value) { return !value ? "" : *value ? "1" : "0"; }

// Returns the fields that say how the run settled. They are the same in every row, and empty if the trace marks no
// iterations. The row of the whole run also has the range of the quoted iterations and both slowdowns.
ResultRow settled_fields(const RunRecord& record, const std::optional<SettledIterations>& settled, bool whole_run) {
  const auto if_settled = [&](std::uint64_t value) {
    return settled && settled->is_settled ? fmt::format("{}", value) : "";
  };
  const auto if_whole = [&](std::uint64_t value) { return whole_run ? fmt::format("{}", value) : ""; };
  const auto if_quoted = [&](std::uint64_t value) { return settled ? if_whole(value) : ""; };
  const auto ns = [](Nanoseconds time) { return static_cast<std::uint64_t>(time.value); };
  const SettledIterations none;
  const SettledIterations& s = settled ? *settled : none;
  return {{"is_settled", flag(settled ? std::optional(s.is_settled) : std::nullopt)},
          {"learning_iterations", if_settled(s.learning)},
          {"settled_period", if_settled(s.period)},
          {"settled_ns", if_whole(ns(settled ? s.duration : record.result.total))},
          {"shortest_ns", if_quoted(ns(s.shortest))},
          {"longest_ns", if_quoted(ns(s.longest))},
          {"first_quoted", if_quoted(s.first_index)},
          {"last_quoted", if_quoted(s.last_index)},
          {"slowdown_thousandths", record.unlimited ? if_whole(slowdown_thousandths(record)) : ""},
          {"slowdown_ideal_thousandths", if_whole(slowdown_ideal_thousandths(record))},
          {"baseline_hypothetical", record.unlimited ? if_whole(record.unlimited->hypothetical) : ""},
          {"uncertain_low_ns", record.uncertainty ? if_whole(record.uncertainty->low_ns) : ""},
          {"uncertain_high_ns", record.uncertainty ? if_whole(record.uncertainty->high_ns) : ""}};
}

// Returns a row for one iteration, quoted or not, or (if `quoted` is nothing) for the whole run.
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
      {"quoted", flag(quoted)},
      {"settled", flag(quoted ? std::optional(*quoted && settled->is_settled) : std::nullopt)},
      {"begin_ns", fmt::format("{}", part.begin.value)},
      {"end_ns", fmt::format("{}", part.end.value)},
      {"duration_ns", fmt::format("{}", (part.end - part.begin).value)},
      {"ideal_ns", fmt::format("{}", part.ideal.value)},
  };
  row.insert(row.end(), rest.begin(), rest.end());
  for (auto& field : settled_fields(record, settled, !quoted)) row.push_back(std::move(field));
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
