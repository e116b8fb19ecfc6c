// SPDX-License-Identifier: Apache-2.0
#include "sim/league/league_csv.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <string_view>
#include <vector>

#include "sim/formats/csv_field.h"
#include "sim/league/league_words.h"

namespace uvmsim::league {
namespace {

using Fields = std::map<std::string, std::string, std::less<>>;

const std::vector<std::string_view> kBefore = {"scope", "trace", "system", "settings", "layout",
                                               "limit", "seed",  "rank",   "name"};
const std::vector<std::string_view> kBehind = {"information_class",
                                               "oracle",
                                               "plugin",
                                               "status",
                                               "contests",
                                               "first",
                                               "unsettled",
                                               "time_ns",
                                               "is_settled",
                                               "learning_iterations",
                                               "total_ns",
                                               "over_driver_thousandths",
                                               "over_bound_thousandths",
                                               "over_best_known_thousandths",
                                               "best_over_driver_thousandths",
                                               "worst_over_driver_thousandths",
                                               "compute_ns",
                                               "necessary_bytes_ns",
                                               "excess_bytes_ns",
                                               "fault_latency_ns",
                                               "serialisation_ns",
                                               "capacity_bytes",
                                               "footprint_bytes",
                                               "id",
                                               "error"};

std::string number(std::uint64_t value) { return fmt::format("{}", value); }
std::string or_empty(std::uint64_t value) { return value == 0 ? "" : number(value); }
std::string thousandths(std::uint64_t millionths) { return or_empty((millionths + 500) / 1000); }

Fields entrant_fields(const Entrant& entrant) {
  Fields fields = {{"rank", or_empty(entrant.rank)},
                   {"name", entrant.name},
                   {"information_class", entrant.information_class},
                   {"oracle", entrant.oracle ? "1" : "0"},
                   {"plugin", entrant.plugin ? "1" : "0"}};
  for (const auto& [slot, text] : entrant.policies) fields[slot] = text;
  return fields;
}

Fields contest_fields(const Contest& contest, const Standing& standing) {
  const sweep::Point& point = contest.point;
  Fields fields = entrant_fields(standing.entrant);
  fields["scope"] = "contest";
  fields["trace"] = std::filesystem::path(point.trace).filename().string();
  fields["system"] = point.system;
  fields["settings"] = fmt::format("{}", fmt::join(point.settings, " "));
  fields["layout"] = point.layout;
  fields["limit"] = sweep::limit_text(point);
  fields["seed"] = number(point.seed);
  fields["status"] = status_name(standing.status);
  fields["id"] = standing.id;
  fields["error"] = standing.error;
  if (standing.status != Standing::Status::kFinished) return fields;
  fields["time_ns"] = number(standing.time_ns);
  if (standing.settled) fields["is_settled"] = standing.settled->is_settled ? "1" : "0";
  if (standing.settled && standing.settled->is_settled) {
    fields["learning_iterations"] = number(standing.settled->learning);
  }
  fields["total_ns"] = number(standing.total_ns);
  fields["over_driver_thousandths"] = or_empty(standing.over_driver);
  fields["over_bound_thousandths"] = or_empty(standing.over_bound);
  fields["over_best_known_thousandths"] = or_empty(standing.over_best_known);
  fields["compute_ns"] = number(contest.compute_ns);
  fields["necessary_bytes_ns"] = number(standing.bound_ns - contest.compute_ns);
  fields["excess_bytes_ns"] = number(standing.excess_bytes_ns);
  fields["fault_latency_ns"] = number(standing.fault_latency_ns);
  fields["serialisation_ns"] = number(standing.serialisation_ns);
  fields["capacity_bytes"] = number(contest.capacity_bytes);
  fields["footprint_bytes"] = number(contest.footprint_bytes);
  return fields;
}

Fields overall_fields(const OverallStanding& all) {
  Fields fields = entrant_fields(all.entrant);
  fields["scope"] = "overall";
  fields["contests"] = number(all.contests);
  fields["first"] = number(all.first);
  fields["unsettled"] = number(all.unsettled);
  fields["learning_iterations"] = number(all.most_learning);
  fields["over_driver_thousandths"] = thousandths(all.over_driver);
  fields["over_bound_thousandths"] = thousandths(all.over_bound);
  fields["over_best_known_thousandths"] = thousandths(all.over_best_known);
  fields["best_over_driver_thousandths"] = or_empty(all.best_over_driver);
  fields["worst_over_driver_thousandths"] = or_empty(all.worst_over_driver);
  return fields;
}

}  // namespace

std::string league_csv(const League& league) {
  std::vector<std::string_view> columns = kBefore;
  if (!league.overall.empty()) {
    for (const auto& [slot, text] : league.overall.front().entrant.policies) columns.push_back(slot);
  }
  columns.insert(columns.end(), kBehind.begin(), kBehind.end());
  std::string text = fmt::format("{}\n", fmt::join(columns, ","));
  const auto add = [&](const Fields& fields) {
    std::vector<std::string> cells;
    for (const std::string_view column : columns) {
      const auto field = fields.find(column);
      cells.push_back(field == fields.end() ? "" : csv_field(field->second));
    }
    text += fmt::format("{}\n", fmt::join(cells, ","));
  };
  for (const Contest& contest : league.contests) {
    for (const Standing& standing : contest.standings) add(contest_fields(contest, standing));
  }
  for (const OverallStanding& all : league.overall) add(overall_fields(all));
  return text;
}

}  // namespace uvmsim::league
