// SPDX-License-Identifier: Apache-2.0
#include "sim/league/league.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "sim/common/version.h"
#include "sim/formats/fields.h"
#include "sim/sweep/model_version.h"

namespace uvmsim::league {
namespace {

using nlohmann::ordered_json;

ordered_json or_null(std::uint64_t value) { return value == 0 ? ordered_json(nullptr) : ordered_json(value); }

ordered_json entrant_json(const Entrant& entrant) {
  return {{"rank", or_null(entrant.rank)},
          {"name", entrant.name},
          {"policies", ordered_json::object_t(entrant.policies.begin(), entrant.policies.end())},
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

// The caller adds its standings.
ordered_json contest_json(const Contest& contest) {
  const sweep::Point& point = contest.point;
  return {{"label", contest.label},
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
          {"judged_by", contest.is_judged_by_settled() ? "settled iterations" : "whole run"},
          {"driver_ns", or_null(contest.driver_ns)},
          {"driver_total_ns", or_null(contest.driver_total_ns)},
          {"best_known_ns", or_null(contest.best_known_ns)},
          {"best_known", contest.best_known},
          {"best_oracle_ns", or_null(contest.best_oracle_ns)},
          {"best_oracle", contest.best_oracle},
          {"standings", ordered_json::array()}};
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

// The columns of CSV before and after the policies by slot.
constexpr const char* kBefore = "scope,trace,system,settings,layout,limit,seed,rank,name";
constexpr const char* kBehind =
    "information_class,oracle,plugin,status,contests,first,unsettled,time_ns,is_settled,learning_iterations,total_ns,"
    "over_driver_thousandths,over_bound_thousandths,over_best_known_thousandths,best_over_driver_thousandths,"
    "worst_over_driver_thousandths,compute_ns,necessary_bytes_ns,excess_bytes_ns,fault_latency_ns,serialisation_ns,"
    "capacity_bytes,footprint_bytes,id,error";

// Returns the row of a standing, from its JSON and its contest's.
ordered_json contest_row(const Standing& standing, const Contest& contest) {
  ordered_json row = standing_json(standing, contest);
  const ordered_json of_contest = contest_json(contest);
  row["scope"] = "contest";
  row["limit"] = sweep::limit_text(contest.point);
  for (const char* key : {"trace", "system", "layout", "seed"}) row[key] = of_contest[key];
  row["settings"] = fmt::format("{}", fmt::join(contest.point.settings, " "));
  if (standing.status == Standing::Status::kFinished) {
    for (const char* key : {"capacity_bytes", "footprint_bytes"}) row[key] = of_contest[key];
  }
  return row;
}

ordered_json overall_row(const OverallStanding& all) {
  ordered_json row = overall_json(all);
  row["scope"] = "overall";
  row["over_driver_thousandths"] = or_null((all.over_driver + 500) / 1000);
  row["over_bound_thousandths"] = or_null((all.over_bound + 500) / 1000);
  row["over_best_known_thousandths"] = or_null((all.over_best_known + 500) / 1000);
  return row;
}

std::string field_of(const ordered_json& row, std::string_view column) {
  const ordered_json& place = row["policies"].contains(column) ? row["policies"] : row;
  const auto field = place.find(column);
  if (field == place.end() || field->is_null()) return "";
  if (field->is_boolean()) return *field == true ? "1" : "0";
  return field->is_string() ? csv_field(field->get<std::string>()) : field->dump();
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
  for (const Contest& contest : league.contests) {
    out["contests"].push_back(contest_json(contest));
    ordered_json& standings = out["contests"].back()["standings"];
    for (const Standing& standing : contest.standings) standings.push_back(standing_json(standing, contest));
  }
  return out.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string league_csv(const League& league) {
  std::string header = std::string(kBefore) + ",";
  if (!league.overall.empty()) {
    for (const auto& [slot, text] : league.overall.front().entrant.policies) header += slot + ",";
  }
  header += kBehind;
  const std::vector<std::string> columns = split(header, ',');
  std::string text = header + "\n";
  const auto add = [&](const ordered_json& row) {
    std::vector<std::string> fields;
    for (const std::string& column : columns) fields.push_back(field_of(row, column));
    text += fmt::format("{}\n", fmt::join(fields, ","));
  };
  for (const Contest& contest : league.contests) {
    for (const Standing& standing : contest.standings) add(contest_row(standing, contest));
  }
  for (const OverallStanding& all : league.overall) add(overall_row(all));
  return text;
}

}  // namespace uvmsim::league
