// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/common/version.h"
#include "sim/validate/validation_report.h"

namespace uvmsim::validate {

namespace {

using Json = nlohmann::ordered_json;

// Errors as text of one decimal would be no number and a binary fraction is no decimal: tenths of a percent, rounded.
std::int64_t permille(double percent) { return static_cast<std::int64_t>(percent * 10 + 0.5); }

Json pair_json(const Pair& pair) {
  return {{"measured", pair.measured}, {"simulated", pair.simulated}, {"error_permille", permille(pair.error())}};
}

Json order_json(const PageOrder& order) {
  const auto permille = [](double correlation) { return std::lround(correlation * 1000); };
  Json out = {{"pages", order.pages}, {"correlation_permille", permille(order.all)}};
  if (order.within_batches) out["within_batches_permille"] = permille(*order.within_batches);
  return out;
}

Json failures_json(const std::vector<Failure>& failures) {
  Json out = Json::array();
  for (const Failure& failure : failures) {
    out.push_back({{"check", failure.check}, {"error_permille", permille(failure.error_percent)}});
  }
  return out;
}

Json step_json(const CampaignStep& step) {
  Json out;
  out["name"] = step.name;
  if (step.lost_records) out["lost_records"] = true;
  for (std::size_t i = 0; i < figure::kCount; ++i) {
    const auto pair = step.pair(i);
    out[kFigureTable[i].key] = pair ? pair_json(*pair) : Json{{"simulated", *step.simulated[i]}};
  }
  return out;
}

Json campaign_json(const CampaignRun& run) {
  Json out;
  out["footprint_blocks"] = run.footprint_blocks;
  out["capacity_blocks"] = run.capacity_blocks;
  if (run.processes != 1) out["processes"] = run.processes;
  if (run.finish_ns) out["finish_ns"] = pair_json(*run.finish_ns);
  if (run.steady_ns) out["steady_ns"] = pair_json(*run.steady_ns);
  if (run.ratio_permille) out["steady_to_cold_permille"] = pair_json(*run.ratio_permille);
  out["total"] = step_json(run.total);
  out["steps"] = Json::array();
  for (const CampaignStep& step : run.steps) out["steps"].push_back(step_json(step));
  return out;
}

Json comparison_json(const Comparison& c) {
  Json out;
  out["name"] = c.name;
  out["class"] = class_name(c.experiment_class);
  out["line"] = c.line;
  out["judged"] = c.judged();
  out["within"] = c.within();
  out["within_quiet"] = c.quiet_failures.empty();
  out["times"] = kTimeBasisNames[static_cast<std::size_t>(c.basis)];
  out["runs"] = c.runs;
  if (c.upper_ns > 0) out["measured_quartiles_ns"] = {c.lower_ns, c.upper_ns};
  out["has_contents"] = c.has_contents;
  out["exact"] = c.exact();
  out["outside"] = failures_json(c.failures);
  out["outside_quiet"] = failures_json(c.quiet_failures);
  out["same_faulting_pages"] = c.same_pages;
  out["same_transactions"] = c.same_transactions;
  out["same_remote_maps"] = c.same_remote_maps;
  for (const Quantity& quantity : kQuantities) out[quantity.key] = pair_json(c.*quantity.pair);
  if (c.page_order) out["page_order"] = order_json(*c.page_order);
  if (c.campaign) out["campaign"] = campaign_json(*c.campaign);
  return out;
}

Json summary_json(const ClassSummary& s) {
  const auto spread = [](const Spread& s) {
    return Json{{"median_permille", permille(s.median)}, {"worst_permille", permille(s.worst)}};
  };
  Json out;
  out["class"] = class_name(s.experiment_class);
  out["experiments"] = s.experiments;
  out["exact"] = s.exact;
  out["judged"] = s.judged;
  for (std::size_t i = 0; i < kTimeBasisNames.size(); ++i) out["times"][kTimeBasisNames[i]] = s.by_basis[i];
  out["within"] = s.within;
  out["within_quiet"] = s.quiet_within;
  out["time_error"] = spread(s.time);
  out["time_error"]["worst_name"] = s.time.worst_name;
  out["quiet_time_error"] = spread(s.quiet);
  out["quiet_time_error"]["worst_name"] = s.quiet.worst_name;
  out["fault_batches_error"] = spread(s.batches);
  out["bytes_error"] = spread(s.bytes);
  out["outside"] = failures_json(s.failures);
  out["outside_quiet"] = failures_json(s.quiet_failures);
  return out;
}

Json tolerances_json(const Tolerances& tolerances) {
  Json out;
  for (const auto& [name, value] : kTolerances) out[fmt::format("{}_permille", name)] = permille(tolerances.*value);
  return out;
}

}  // namespace

std::string validation_json(const Validation& validation) {
  Json out;
  out["schema"] = kValidationSchema;
  out["uvmsim_version"] = version();
  out["files"] = validation.files;
  out["system"] = validation.system;
  out["within"] = validation.within();
  out["tolerances"] = tolerances_json(validation.tolerances);
  out["warnings"] = validation.warnings;
  out["classes"] = Json::array();
  for (const ClassSummary& summary : validation.classes) out["classes"].push_back(summary_json(summary));
  out["experiments"] = Json::array();
  for (const Comparison& comparison : validation.comparisons) out["experiments"].push_back(comparison_json(comparison));
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace uvmsim::validate
