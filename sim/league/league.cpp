// SPDX-License-Identifier: Apache-2.0
#include "sim/league/league.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "sim/common/error.h"
#include "sim/league/entrants.h"
#include "sim/policy/registry.h"
#include "sim/report/numbers.h"
#include "sim/sweep/point_files.h"
#include "sim/sweep/resolve.h"

namespace uvmsim::league {
namespace {

using Json = nlohmann::json;
using Status = Standing::Status;

std::string label_of(const sweep::Point& point) {
  std::string label = fmt::format("{}, {}, layout {}, {}", std::filesystem::path(point.trace).filename().string(),
                                  point.system, point.layout, sweep::limit_text(point));
  for (const std::string& setting : point.settings) label += ", " + setting;
  if (point.footprint_bytes != 0) label += ", footprint " + report::format_bytes(point.footprint_bytes);
  if (point.touched_footprint) label += ", footprint touched";
  if (point.iterations != 0) label += fmt::format(", {} iterations", point.iterations);
  if (point.time_scale_millionths != 0) {
    label += ", time scale " + report::format_millionths(point.time_scale_millionths);
  }
  if (!point.recorded_on.empty()) label += ", recorded on " + point.recorded_on;
  if (!point.include_host_gaps) label += ", without host gaps";
  if (point.partial) label += ", partial trace";
  if (point.seed != 1) label += fmt::format(", seed {}", point.seed);
  return label;
}

Entrant entrant_of(const sweep::Point& point) {
  Entrant entrant;
  entrant.name = entrant_name(point);
  for (const policy::Slot slot : kPolicySlots) {
    entrant.policies.emplace_back(policy::slot_name(slot), sweep::policy_text(point.*choice_of(slot)));
  }
  entrant.plugin = is_from_plugin(point);
  return entrant;
}

// Reads the parts of a result that a league uses.
void read_result(const Json& result, Standing& standing, Contest& contest) {
  for (const Json& used : result.at("policies")) {
    Entrant& entrant = standing.entrant;
    entrant.information_class = std::max(entrant.information_class, used.at("information_class").get<std::string>());
  }
  standing.entrant.oracle =
      standing.entrant.information_class == policy::information_class_name(policy::InformationClass::kD4);
  standing.status = Status::kFinished;
  standing.total_ns = result.at("total_ns");
  standing.time_ns = standing.total_ns;
  if (contest.is_judged_by_settled()) {
    const Json& settled = result.at("settled");
    standing.time_ns = settled.at("duration_ns");
    standing.settled = Standing::Settled{settled.at("is_settled"), 0};
    if (standing.settled->is_settled) standing.settled->learning = settled.at("learning_iterations");
  }
  const Json& bounds = result.at("bounds");
  const Json& distance = bounds.at("distance");
  standing.excess_bytes_ns = distance.at("excess_bytes_ns");
  standing.fault_latency_ns = distance.at("fault_latency_ns");
  standing.serialisation_ns = distance.at("serialisation_ns");
  contest.compute_ns = bounds.at("compute_ns");
  standing.bound_ns = bounds.at("best_ns");
  contest.bound_ns = std::max(contest.bound_ns, standing.bound_ns);
  contest.capacity_bytes = result.at("capacity_bytes");
  contest.footprint_bytes = result.at("footprint_bytes");
}

Standing standing_of(const sweep::PlannedPoint& planned, const sweep::PointFiles& files, Contest& contest) {
  Standing standing;
  standing.entrant = entrant_of(planned.point);
  standing.id = planned.id;
  if (const auto text = files.result(planned.id)) {
    try {
      read_result(Json::parse(*text), standing, contest);
    } catch (const Json::exception& error) {
      throw_input_error("points/{}.json: is no result with bounds: {}; remove it and run the league", planned.id,
                        error.what());
    }
  } else if (auto error = files.error(planned.id)) {
    standing.status = Status::kFailed;
    standing.error = *std::move(error);
  }
  return standing;
}

// Sorts the entries by value and ranks oracles separately. `ranked(x)`: x takes a rank; `value(x)`: less is better.
template <class Entry, class Ranked, class Value>
void order_and_rank(std::vector<Entry>& entries, const Ranked& ranked, const Value& value) {
  const auto key = [&](const Entry& entry) {
    const bool counts = ranked(entry);
    return std::tuple(!counts, counts && entry.entrant.oracle, counts ? value(entry) : 0, entry.entrant.name);
  };
  std::ranges::stable_sort(entries, {}, key);
  std::size_t place[2] = {0, 0};
  const Entry* last[2] = {nullptr, nullptr};
  for (Entry& entry : entries) {
    if (!ranked(entry)) continue;
    const bool oracle = entry.entrant.oracle;
    ++place[oracle];
    const bool tie = last[oracle] != nullptr && value(*last[oracle]) == value(entry);
    entry.entrant.rank = tie ? last[oracle]->entrant.rank : place[oracle];
    last[oracle] = &entry;
  }
}

bool is_finished(const Standing& standing) { return standing.status == Status::kFinished; }

void settle(Contest& contest) {
  for (const Standing& standing : contest.standings) {
    if (!is_finished(standing)) continue;
    if (standing.entrant.name == entrant_name({})) {
      contest.driver_ns = standing.time_ns;
      contest.driver_total_ns = standing.total_ns;
    }
    if (contest.best_known_ns == 0 || standing.total_ns < contest.best_known_ns) {
      contest.best_known_ns = standing.total_ns;
      contest.best_known = standing.entrant.name;
    }
    if (standing.entrant.oracle && (contest.best_oracle_ns == 0 || standing.time_ns < contest.best_oracle_ns)) {
      contest.best_oracle_ns = standing.time_ns;
      contest.best_oracle = standing.entrant.name;
    }
  }
  for (Standing& standing : contest.standings) {
    standing.over_driver = report::ratio_thousandths(standing.time_ns, contest.driver_ns);
    standing.over_bound = report::ratio_thousandths(standing.total_ns, standing.bound_ns);
    standing.over_best_known = report::ratio_thousandths(standing.total_ns, contest.best_known_ns);
  }
  order_and_rank(contest.standings, is_finished, [](const Standing& standing) { return standing.time_ns; });
}

// The geometric mean of quotients.
class Mean {
 public:
  void add(std::uint64_t numerator, std::uint64_t denominator) {
    const double logarithm = std::log(static_cast<double>(numerator) / static_cast<double>(denominator));
    logarithms_ += logarithm;
    squares_ += logarithm * logarithm;
    ++count_;
  }
  // Returns exp of the standard deviation of the quotients' logarithms.
  std::uint64_t spread_millionths() const {
    if (count_ < 2) return 0;
    const double mean = logarithms_ / count_;
    const double variance = std::max(0.0, (squares_ - count_ * mean * mean) / (count_ - 1));
    return static_cast<std::uint64_t>(std::llround(1e6 * std::exp(std::sqrt(variance))));
  }
  std::uint64_t millionths() const {
    return count_ == 0 ? 0 : static_cast<std::uint64_t>(std::llround(1e6 * std::exp(logarithms_ / count_)));
  }

 private:
  double logarithms_ = 0, squares_ = 0;
  int count_ = 0;
};

struct Means {
  Mean over_driver, over_bound, over_best_known;
};

std::vector<OverallStanding> overall_of(const std::vector<Contest>& contests, std::size_t counted) {
  std::vector<OverallStanding> overall;
  std::vector<Means> means;
  std::map<std::string, std::size_t> places;
  for (const Contest& contest : contests) {
    for (const Standing& standing : contest.standings) {
      const auto [place, is_new] = places.emplace(standing.entrant.name, overall.size());
      if (is_new) {
        overall.emplace_back().entrant = standing.entrant;
        overall.back().entrant.rank = 0;
        means.emplace_back();
      }
      if (contest.driver_ns == 0 || !is_finished(standing)) continue;
      OverallStanding& all = overall[place->second];
      all.entrant.information_class = standing.entrant.information_class;
      all.entrant.oracle = standing.entrant.oracle;
      ++all.contests;
      all.first += standing.entrant.rank == 1;
      if (standing.settled) {
        all.unsettled += !standing.settled->is_settled;
        all.most_learning = std::max(all.most_learning, standing.settled->learning);
      }
      all.best_over_driver =
          all.contests == 1 ? standing.over_driver : std::min(all.best_over_driver, standing.over_driver);
      all.worst_over_driver = std::max(all.worst_over_driver, standing.over_driver);
      Means& mean = means[place->second];
      mean.over_driver.add(standing.time_ns, contest.driver_ns);
      mean.over_bound.add(standing.total_ns, standing.bound_ns);
      mean.over_best_known.add(standing.total_ns, contest.best_known_ns);
    }
  }
  for (std::size_t i = 0; i < overall.size(); ++i) {
    overall[i].over_driver = means[i].over_driver.millionths();
    overall[i].spread = means[i].over_driver.spread_millionths();
    overall[i].over_bound = means[i].over_bound.millionths();
    overall[i].over_best_known = means[i].over_best_known.millionths();
  }
  order_and_rank(
      overall, [&](const OverallStanding& all) { return counted != 0 && all.contests == counted; },
      [](const OverallStanding& all) { return all.over_driver; });
  return overall;
}

// Returns Kendall's tau-b of two rankings of the same entrants, by the ranked values.
double tau_of(const std::vector<std::uint64_t>& one, const std::vector<std::uint64_t>& other) {
  double agree = 0, pairs_one = 0, pairs_other = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const int a = one[i] < one[j] ? -1 : one[i] > one[j];
      const int b = other[i] < other[j] ? -1 : other[i] > other[j];
      agree += a * b;
      pairs_one += a * a;
      pairs_other += b * b;
    }
  }
  return pairs_one == 0 || pairs_other == 0 ? 0 : agree / std::sqrt(pairs_one * pairs_other);
}

// Ranks again with only the contests of one limit, for each limit.
RankStability rank_by_limit(const std::vector<Contest>& contests, std::vector<OverallStanding>& overall) {
  RankStability stability;
  std::map<std::string, std::vector<Contest>> by_limit;
  for (const Contest& contest : contests) {
    if (contest.driver_ns == 0) continue;
    const std::string limit = sweep::limit_text(contest.point);
    if (by_limit.find(limit) == by_limit.end()) stability.limits.push_back(limit);
    by_limit[limit].push_back(contest);
  }
  if (stability.limits.size() < 2) return stability;
  std::map<std::string, std::vector<std::uint64_t>> means;  // by entrant, for the limits that rank it
  for (const std::string& limit : stability.limits) {
    const std::vector<Contest>& of_limit = by_limit[limit];
    for (const OverallStanding& standing : overall_of(of_limit, of_limit.size())) {
      if (standing.entrant.rank == 0) continue;
      const auto all = std::ranges::find_if(
          overall, [&](const OverallStanding& other) { return other.entrant.name == standing.entrant.name; });
      const std::size_t rank = standing.entrant.rank;
      all->best_limit_rank = all->best_limit_rank == 0 ? rank : std::min(all->best_limit_rank, rank);
      all->worst_limit_rank = std::max(all->worst_limit_rank, rank);
      if (!standing.entrant.oracle) means[standing.entrant.name].push_back(standing.over_driver);
    }
  }
  std::vector<std::vector<std::uint64_t>> rankings(stability.limits.size());
  for (const auto& [name, of_limits] : means) {
    if (of_limits.size() != rankings.size()) continue;
    ++stability.entrants;
    for (std::size_t i = 0; i < rankings.size(); ++i) rankings[i].push_back(of_limits[i]);
  }
  double sum = 0;
  int pairs = 0;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j, ++pairs) sum += tau_of(rankings[i], rankings[j]);
  }
  stability.tau = std::llround(1000 * sum / pairs);
  return stability;
}

std::uint64_t best_oracles_over_driver(const std::vector<Contest>& contests) {
  Mean mean;
  for (const Contest& contest : contests) {
    if (contest.driver_ns == 0) continue;
    if (contest.best_oracle_ns == 0) return 0;
    mean.add(contest.best_oracle_ns, contest.driver_ns);
  }
  return mean.millionths();
}

// Returns entrants with equal times in all contests: a sign of an ineffective policy, or of unsuitable programs.
std::vector<std::vector<std::string>> agreeing_entrants(const std::vector<Contest>& contests) {
  if (contests.size() < 2) return {};
  using Times = std::vector<std::array<std::uint64_t, 3>>;  // contest, time, whole run
  std::map<std::string, Times> times;
  for (std::size_t i = 0; i < contests.size(); ++i) {
    for (const Standing& standing : contests[i].standings) {
      if (is_finished(standing)) times[standing.entrant.name].push_back({i, standing.time_ns, standing.total_ns});
    }
  }
  std::map<Times, std::vector<std::string>> entrants;
  for (const auto& [name, of_entrant] : times) entrants[of_entrant].push_back(name);
  std::vector<std::vector<std::string>> agreeing;
  for (const auto& [of_entrants, names] : entrants) {
    if (names.size() > 1) agreeing.push_back(names);
  }
  std::ranges::sort(agreeing);
  return agreeing;
}

}  // namespace

League rank(const sweep::Plan& plan, const std::string& folder) {
  sweep::refuse_scenarios(plan, folder);
  const sweep::PointFiles files(folder);
  League league;
  std::map<std::pair<std::string, std::uint64_t>, std::size_t> places;
  for (const sweep::PlannedPoint& planned : plan.points) {
    if (!planned.asked) continue;
    if (!planned.point.bounds) {
      throw_input_error(
          "{}: was planned without bounds; `uvmsim league plan` or \"bounds\": true in a sweep file plans with them",
          folder);
    }
    const std::pair key(sweep::program_determinants(planned.determinants), planned.point.seed);
    const auto [place, is_new] = places.emplace(key, league.contests.size());
    if (is_new) {
      league.contests.emplace_back().point = planned.point;
      league.contests.back().label = label_of(planned.point);
    }
    Contest& contest = league.contests[place->second];
    contest.standings.push_back(standing_of(planned, files, contest));
    const Status status = contest.standings.back().status;
    ++(status == Status::kFinished ? league.finished : status == Status::kFailed ? league.failed : league.missing);
  }
  for (Contest& contest : league.contests) {
    settle(contest);
    league.counted += contest.driver_ns != 0;
  }
  league.overall = overall_of(league.contests, league.counted);
  league.best_oracles_over_driver = best_oracles_over_driver(league.contests);
  league.agreeing = agreeing_entrants(league.contests);
  league.stability = rank_by_limit(league.contests, league.overall);
  return league;
}

}  // namespace uvmsim::league
