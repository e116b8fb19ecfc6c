// SPDX-License-Identifier: Apache-2.0
#include "sim/league/league_json.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/common/version.h"
#include "sim/league/league_words.h"
#include "sim/sweep/model_version.h"

namespace uvmsim::league {
namespace {

using nlohmann::ordered_json;

ordered_json or_null(std::uint64_t value) { return value == 0 ? ordered_json(nullptr) : ordered_json(value); }

ordered_json entrant_json(const Entrant& entrant) {
  ordered_json policies = ordered_json::object();
  for (const auto& [slot, text] : entrant.policies) policies[slot] = text;
  return {{"rank", or_null(entrant.rank)},
          {"name", entrant.name},
          {"policies", std::move(policies)},
          {"information_class",
           entrant.information_class.empty() ? ordered_json(nullptr) : ordered_json(entrant.information_class)},
          {"oracle", entrant.oracle},
          {"plugin", entrant.plugin}};
}

ordered_json standing_json(const Standing& standing, const Contest& contest) {
  ordered_json out = entrant_json(standing.entrant);
  out["status"] = status_name(standing.status);
  out["id"] = standing.id;
  if (standing.status == Standing::Status::kFailed) out["error"] = standing.error;
  if (standing.status != Standing::Status::kFinished) return out;
  out["time_ns"] = standing.time_ns;
  out["is_settled"] = standing.settled ? ordered_json(standing.settled->is_settled) : ordered_json(nullptr);
  out["learning_iterations"] = standing.settled && standing.settled->is_settled
                                   ? ordered_json(standing.settled->learning)
                                   : ordered_json(nullptr);
  out["total_ns"] = standing.total_ns;
  out["over_driver_thousandths"] = or_null(standing.over_driver);
  out["over_bound_thousandths"] = or_null(standing.over_bound);
  out["over_best_known_thousandths"] = or_null(standing.over_best_known);
  out["compute_ns"] = contest.compute_ns;
  out["necessary_bytes_ns"] = standing.bound_ns - contest.compute_ns;
  out["excess_bytes_ns"] = standing.excess_bytes_ns;
  out["fault_latency_ns"] = standing.fault_latency_ns;
  out["serialisation_ns"] = standing.serialisation_ns;
  return out;
}

ordered_json contest_json(const Contest& contest) {
  const sweep::Point& point = contest.point;
  ordered_json out = {{"label", contest.label},
                      {"trace", std::filesystem::path(point.trace).filename().string()},
                      {"system", point.system},
                      {"settings", point.settings},
                      {"layout", point.layout},
                      {"osf_thousandths", or_null(point.osf_thousandths)},
                      {"limit_capacity_bytes", or_null(point.capacity_bytes)},
                      {"seed", point.seed},
                      {"capacity_bytes", contest.capacity_bytes},
                      {"footprint_bytes", contest.footprint_bytes},
                      {"compute_ns", contest.compute_ns},
                      {"bound_ns", contest.bound_ns},
                      {"judged_by", contest.point.iterations != 0 ? "settled iterations" : "whole run"},
                      {"driver_ns", or_null(contest.driver_ns)},
                      {"driver_total_ns", or_null(contest.driver_total_ns)},
                      {"best_known_ns", or_null(contest.best_known_ns)},
                      {"best_known", contest.best_known},
                      {"best_oracle_ns", or_null(contest.best_oracle_ns)},
                      {"best_oracle", contest.best_oracle},
                      {"standings", ordered_json::array()}};
  for (const Standing& standing : contest.standings) out["standings"].push_back(standing_json(standing, contest));
  return out;
}

ordered_json overall_json(const OverallStanding& all) {
  ordered_json out = entrant_json(all.entrant);
  out["contests"] = all.contests;
  out["first"] = all.first;
  out["unsettled"] = all.unsettled;
  out["learning_iterations"] = all.most_learning;
  out["over_driver_millionths"] = or_null(all.over_driver);
  out["over_bound_millionths"] = or_null(all.over_bound);
  out["over_best_known_millionths"] = or_null(all.over_best_known);
  out["best_over_driver_thousandths"] = or_null(all.best_over_driver);
  out["worst_over_driver_thousandths"] = or_null(all.worst_over_driver);
  out["spread_millionths"] = or_null(all.spread);
  out["best_limit_rank"] = or_null(all.best_limit_rank);
  out["worst_limit_rank"] = or_null(all.worst_limit_rank);
  return out;
}

}  // namespace

std::string league_json(const League& league) {
  ordered_json out = {
      {"schema", kLeagueSchema},
      {"uvmsim_version", version()},
      {"model_version", sweep::model_version()},
      {"rule", kRule},
      {"finished", league.finished},
      {"failed", league.failed},
      {"missing", league.missing},
      {"counted_contests", league.counted},
      {"best_oracles_over_driver_millionths", or_null(league.best_oracles_over_driver)},
      {"agreeing", league.agreeing},
      {"rank_stability",
       {{"limits", league.stability.limits},
        {"entrants", league.stability.entrants},
        {"kendall_tau_thousandths",
         league.stability.limits.size() < 2 ? ordered_json(nullptr) : ordered_json(league.stability.tau)}}},
      {"overall", ordered_json::array()},
      {"contests", ordered_json::array()}};
  for (const OverallStanding& all : league.overall) out["overall"].push_back(overall_json(all));
  for (const Contest& contest : league.contests) out["contests"].push_back(contest_json(contest));
  return out.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace uvmsim::league
