#include "sim/cli/league_text.h"

#include <fmt/format.h>

#include "sim/cli/text_table.h"
#include "sim/league/entrants.h"
#include "sim/league/league_words.h"
#include "sim/policy/registry.h"
#include "sim/report/numbers.h"

namespace uvmsim::cli {
namespace {

using league::Contest;
using league::Entrant;
using league::OverallStanding;
using league::Standing;
using report::format_thousandths;

std::string ms(std::uint64_t ns) { return report::format_ms(Nanoseconds(static_cast<std::int64_t>(ns))); }
std::string factor(std::uint64_t thousandths) { return thousandths == 0 ? "-" : format_thousandths(thousandths); }
std::string mean(std::uint64_t millionths) { return factor((millionths + 500) / 1000); }

// ">  3  evict mine"; "   o1  evict min": rank 1 of those that know the future.
std::string place(const Entrant& entrant) {
  const std::string rank = entrant.rank == 0 ? "-" : fmt::format("{}{}", entrant.oracle ? "o" : "", entrant.rank);
  return fmt::format("{}{:>4}  {}", entrant.plugin ? '>' : ' ', rank, entrant.name);
}

std::string class_of(const Entrant& entrant) {
  return entrant.information_class.empty() ? "-" : entrant.information_class;
}

// Iterations before the first settled one.
std::string learning(const Standing& standing) {
  if (!standing.settled) return "-";
  return standing.settled->is_settled ? fmt::format("{}", standing.settled->learning) : "not settled";
}
std::string learning(const OverallStanding& all) {
  const std::string most = fmt::format("{}", all.most_learning);
  return all.unsettled == 0 ? most : fmt::format("{}, not settled in {}", most, all.unsettled);
}

std::string contest_text(const Contest& contest) {
  std::string text = contest.label + "\n";
  if (contest.bound_ns != 0) {
    text += fmt::format("capacity {}, footprint {}; lower bound {} ms: computing {}, necessary bytes {}\n",
                        report::format_bytes(contest.capacity_bytes), report::format_bytes(contest.footprint_bytes),
                        ms(contest.bound_ns), ms(contest.compute_ns), ms(contest.bound_ns - contest.compute_ns));
    text += fmt::format("best known {} ms: {}\n", ms(contest.best_known_ns), contest.best_known);
  }
  TextTable table({"    #", "class", "time (ms)", "/ driver", "learning", "whole run", "/ bound", "/ best known",
                   "excess bytes", "fault latency", "serialisation"});
  std::string errors;
  for (const Standing& standing : contest.standings) {
    std::vector<std::string> row{place(standing.entrant), class_of(standing.entrant)};
    if (standing.status == Standing::Status::kFinished) {
      row.insert(row.end(),
                 {ms(standing.time_ns), factor(standing.over_driver), learning(standing), ms(standing.total_ns),
                  factor(standing.over_bound), factor(standing.over_best_known), ms(standing.excess_bytes_ns),
                  ms(standing.fault_latency_ns), ms(standing.serialisation_ns)});
    } else {
      row.insert(row.end(), {league::status_name(standing.status), "-", "-", "-", "-", "-", "-", "-", "-"});
      if (!standing.error.empty()) errors += fmt::format("{} failed: {}\n", standing.entrant.name, standing.error);
    }
    table.add_row(row);
  }
  return text + table.text(true) + errors + "\n";
}

std::string overall_text(const league::League& league) {
  std::string text = fmt::format("overall, contests counted: {}; by the {}\n", league.counted, league::kRule);
  TextTable table(
      {"    #", "class", "/ driver", "best", "worst", "learning", "/ bound", "/ best known", "first in", "contests"});
  for (const OverallStanding& all : league.overall) {
    table.add_row({place(all.entrant), class_of(all.entrant), mean(all.over_driver), factor(all.best_over_driver),
                   factor(all.worst_over_driver), learning(all), mean(all.over_bound), mean(all.over_best_known),
                   fmt::format("{}", all.first), fmt::format("{}", all.contests)});
  }
  return text + table.text(true);
}

std::string legend() {
  std::string driver;
  for (const policy::Slot slot : league::slots()) {
    driver += (driver.empty() ? "" : ", ") + std::string(policy::slot_name(slot)) + " " +
              sweep::policy_text(driver_choice(slot));
  }
  return "driver: " + driver +
         "; >: from a plug-in; o: knows the future (D4), ranked apart; times are in ms: of a settled iteration where a "
         "number of iterations was asked for (learning: how many came before), else of the whole run, as the columns "
         "from "
         "there on are\n";
}

}  // namespace

std::string league_text(const league::League& league) {
  std::string text;
  for (const Contest& contest : league.contests) text += contest_text(contest);
  if (league.contests.size() > 1) text += overall_text(league) + "\n";
  return text + legend();
}

}  // namespace uvmsim::cli
