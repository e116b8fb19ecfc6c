// SPDX-License-Identifier: Apache-2.0
#include "sim/league/league.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/formats/wrapped.h"
#include "sim/league/entrants.h"
#include "sim/policy/registry.h"
#include "sim/report/numbers.h"

namespace uvmsim::league {
namespace {

using report::format_ms;
using report::format_thousandths;

constexpr std::size_t kHang = 2;

std::string factor(std::uint64_t thousandths) { return thousandths == 0 ? "-" : format_thousandths(thousandths); }
std::string mean(std::uint64_t millionths) { return factor((millionths + 500) / 1000); }

// Formats ">  3  evict mine", or "   o1  evict min" for rank 1 of the oracles.
std::string place(const Entrant& entrant) {
  const std::string rank = entrant.rank == 0 ? "-" : fmt::format("{}{}", entrant.oracle ? "o" : "", entrant.rank);
  return fmt::format("{}{:>4}  {}", entrant.plugin ? '>' : ' ', rank, entrant.name);
}

std::string class_of(const Entrant& entrant) {
  return entrant.information_class.empty() ? "-" : entrant.information_class;
}

// Formats the number of iterations before the first settled one.
std::string learning(const Standing& standing) {
  if (!standing.settled) return "-";
  return standing.settled->is_settled ? fmt::format("{}", standing.settled->learning) : "not settled";
}
std::string learning(const OverallStanding& all) {
  const std::string most = fmt::format("{}", all.most_learning);
  return all.unsettled == 0 ? most : fmt::format("{}, not settled in {}", most, all.unsettled);
}

// Formats the best and the worst rank under a single limit.
std::string ranks(const OverallStanding& all) {
  if (all.best_limit_rank == 0) return "-";
  return all.best_limit_rank == all.worst_limit_rank
             ? fmt::format("{}", all.best_limit_rank)
             : fmt::format("{} to {}", all.best_limit_rank, all.worst_limit_rank);
}

std::string contest_text(const Contest& contest) {
  std::string text = wrapped_line(contest.label, kHang) + "\n";
  if (contest.bound_ns != 0) {
    text += fmt::format("capacity {}, footprint {}; lower bound {} ms: computing {}, necessary bytes {}\n",
                        report::format_bytes(contest.capacity_bytes), report::format_bytes(contest.footprint_bytes),
                        format_ms(contest.bound_ns), format_ms(contest.compute_ns),
                        format_ms(contest.bound_ns - contest.compute_ns));
    const std::string best = fmt::format("best known {} ms: {}", format_ms(contest.best_known_ns), contest.best_known);
    text += wrapped_line(best, kHang) + "\n";
  }
  if (contest.best_oracle_ns != 0) {
    const std::string best =
        fmt::format("best of the oracles {} ms: {}", format_ms(contest.best_oracle_ns), contest.best_oracle);
    text += wrapped_line(best, kHang) + "\n";
  }
  const bool settled = contest.is_judged_by_settled();
  std::vector<std::string> header{"    #", "class", "time (ms)", "/ driver"};
  if (settled) header.insert(header.end(), {"learning", "whole run"});
  header.insert(header.end(), {"/ bound", "/ best known", "excess bytes", "fault latency", "serialisation"});
  TextTable table(header);
  std::string errors;
  for (const Standing& standing : contest.standings) {
    std::vector<std::string> row{place(standing.entrant), class_of(standing.entrant)};
    if (standing.status == Standing::Status::kFinished) {
      row.insert(row.end(), {format_ms(standing.time_ns), factor(standing.over_driver)});
      if (settled) row.insert(row.end(), {learning(standing), format_ms(standing.total_ns)});
      row.insert(row.end(),
                 {factor(standing.over_bound), factor(standing.over_best_known), format_ms(standing.excess_bytes_ns),
                  format_ms(standing.fault_latency_ns), format_ms(standing.serialisation_ns)});
    } else {
      row.emplace_back(status_name(standing.status));
      row.resize(header.size(), "-");
      if (!standing.error.empty()) {
        errors += wrapped_line(fmt::format("{} failed: {}", standing.entrant.name, standing.error), kHang) + "\n";
      }
    }
    table.add_row(row);
  }
  return text + table.text(true) + errors + "\n";
}

std::string overall_text(const League& league) {
  std::string text = fmt::format("overall, contests counted: {}; by the {}\n", league.counted, kRule);
  const bool settled = std::ranges::any_of(league.contests, &Contest::is_judged_by_settled);
  std::vector<std::string> header{"    #", "class", "/ driver", "best", "worst"};
  const bool several_limits = league.stability.limits.size() > 1;
  if (several_limits) header.insert(header.end(), {"spread", "ranks"});
  if (settled) header.emplace_back("learning");
  header.insert(header.end(), {"/ bound", "/ best known", "first in", "contests"});
  TextTable table(header);
  for (const OverallStanding& all : league.overall) {
    std::vector<std::string> row{place(all.entrant), class_of(all.entrant), mean(all.over_driver),
                                 factor(all.best_over_driver), factor(all.worst_over_driver)};
    if (several_limits) row.insert(row.end(), {mean(all.spread), ranks(all)});
    if (settled) row.push_back(learning(all));
    row.insert(row.end(), {mean(all.over_bound), mean(all.over_best_known), fmt::format("{}", all.first),
                           fmt::format("{}", all.contests)});
    table.add_row(row);
  }
  text += table.text(true);
  if (league.best_oracles_over_driver != 0) {
    text += fmt::format("the best oracle of each contest, the reference: {} / driver\n",
                        mean(league.best_oracles_over_driver));
  }
  if (several_limits) {
    text +=
        wrapped_line(fmt::format("rank stability over {}: Kendall's tau {} ({} entrants that are ranked under each)",
                                 fmt::join(league.stability.limits, ", "),
                                 report::format_signed_thousandths(league.stability.tau), league.stability.entrants),
                     kHang) +
        "\n";
  }
  for (const std::vector<std::string>& names : league.agreeing) {
    const std::string line = fmt::format("agree in every digit of every contest: {}", fmt::join(names, ", "));
    text += wrapped_line(line, kHang) + "\n";
  }
  return text;
}

std::string legend() {
  std::string driver;
  for (const policy::Slot slot : kPolicySlots) {
    driver += (driver.empty() ? "" : ", ") + std::string(policy::slot_name(slot)) + " " +
              sweep::policy_text(driver_choice(slot));
  }
  const std::string line = "driver: " + driver +
                           "; >: from a plug-in; o: knows the future (D4), ranked apart; times, in ms, are of the "
                           "whole run, but of a settled "
                           "iteration where learning says how many came before";
  return wrapped_line(line, kHang) + "\n";
}

}  // namespace

std::string league_text(const League& league) {
  std::string text;
  for (const Contest& contest : league.contests) text += contest_text(contest);
  if (league.contests.size() > 1) text += overall_text(league) + "\n";
  return text + legend();
}

}  // namespace uvmsim::league
