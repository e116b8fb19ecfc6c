// SPDX-License-Identifier: Apache-2.0
// A league: the results of a sweep ranked by time, per program and limit, and over all of them. The time is that of a
// settled iteration (engine/settled.h), or of the whole run if the trace marks no repeatable iterations or they run as
// recorded. It can be printed as tables, JSON and CSV.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/sweep/plan.h"

namespace uvmsim::league {

inline constexpr const char* kLeagueSchema = "uvmsim.league/2";
// The rule of the overall ranking.
inline constexpr const char* kRule =
    "geometric mean of the time over that under the driver's own policies, over all programs and limits; times of "
    "settled iterations, or of whole runs where none is repeated";

// The driver's policies, or others in their place. Policies of class D4 know the future and are ranked among
// themselves. Ranks begin with 1, and equal results share one; 0 is no rank.
struct Entrant {
  std::string name;                                           // entrants.h
  std::vector<std::pair<std::string, std::string>> policies;  // by slot, as the command line takes them
  std::string information_class;                              // the highest of its policies; empty: unknown
  bool oracle = false;                                        // D4
  bool plugin = false;                                        // one of its policies comes from a plug-in
  std::size_t rank = 0;
};

// Factors are in thousandths; 0: the divisor is missing.
struct Standing {
  Entrant entrant;
  enum class Status : std::uint8_t { kFinished, kFailed, kMissing } status = Status::kMissing;
  std::string id;     // of the point
  std::string error;  // reason of a failure
  // The following are for finished points. The ranked time; for a run that should have settled and did not, the mean of
  // its passes.
  std::uint64_t time_ns = 0, over_driver = 0;
  struct Settled {
    bool is_settled = false;
    std::uint64_t learning = 0;  // iterations before the first settled one
  };
  std::optional<Settled> settled;  // absent: whole runs are compared
  // The following are for the whole run.
  std::uint64_t total_ns = 0;
  std::uint64_t bound_ns = 0;  // lower bound for policies of its kind, which may drop memory or leave it on the host
  std::uint64_t over_bound = 0, over_best_known = 0;
  // The parts of its time above the best bound (bounds/distance.h).
  std::uint64_t excess_bytes_ns = 0, fault_latency_ns = 0, serialisation_ns = 0;
};

// One program with one limit on one system.
struct Contest {
  sweep::Point point;  // with the driver's policies
  std::string label;   // its difference from the other contests
  std::uint64_t capacity_bytes = 0, footprint_bytes = 0;
  std::uint64_t compute_ns = 0,
                bound_ns = 0;   // the least and the best of the lower bounds, the highest of all entrants
  std::uint64_t driver_ns = 0;  // time_ns of the driver's policies; 0: they did not finish
  std::uint64_t driver_total_ns = 0;
  std::uint64_t best_known_ns = 0;  // the fastest whole run of all, including oracles
  std::string best_known;
  std::uint64_t best_oracle_ns = 0;  // time_ns of the fastest oracle; 0: none finished
  std::string best_oracle;
  std::vector<Standing> standings;  // by rank, then by name; oracles after the others, then entrants without a rank

  bool is_judged_by_settled() const { return point.iterations != 0; }
};

// Results over all contests that the driver's policies finished. Means are geometric, in millionths.
struct OverallStanding {
  Entrant entrant;                                                     // ranked if it finished all of them
  std::size_t contests = 0;                                            // contests that it finished
  std::size_t first = 0;                                               // contests in which it has rank 1
  std::size_t unsettled = 0;                                           // runs that should have settled and did not
  std::uint64_t most_learning = 0;                                     // iterations, the most of any settled run
  std::uint64_t over_driver = 0, over_bound = 0, over_best_known = 0;  // means
  std::uint64_t best_over_driver = 0, worst_over_driver = 0;           // in thousandths
  // exp of the standard deviation of log(time / driver's): 1 is none; in millionths, 0 for less than two contests.
  std::uint64_t spread = 0;
  // The best and worst rank when only the contests of one limit count; 0: none.
  std::size_t best_limit_rank = 0, worst_limit_rank = 0;
};

// The dependence of the ranking on the limit: compares the rankings by the contests of each limit alone.
struct RankStability {
  // "OSF 1.25", in the order of the plan, if the driver finished; with fewer than two there is nothing to compare
  std::vector<std::string> limits;
  // there is nothing to compare
  std::size_t entrants = 0;  // with a rank under every limit, without oracles
  // Kendall's tau-b between the rankings of two limits, the mean over all pairs of limits, in thousandths: 1000 if all
  // agree, 0 if they are unrelated.
  std::int64_t tau = 0;
};

struct League {
  std::vector<Contest> contests;         // in the order of the plan
  std::vector<OverallStanding> overall;  // ranked by over_driver, ordered as the standings of a contest
  std::size_t counted = 0;               // contests that the overall ranking counts
  std::size_t finished = 0, failed = 0, missing = 0;
  // The reference for policies: the best oracle of each contest over the driver, as a geometric mean in millionths. No
  // single oracle is always best: MIN evicts what a kernel larger than memory needs next. 0: none finished all
  // contests.
  std::uint64_t best_oracles_over_driver = 0;
  // Entrants with the same times in every contest, by name; only with more than one contest.
  std::vector<std::vector<std::string>> agreeing;
  RankStability stability;
};

// Ranks the points of `plan` in `folder`, as far as they ran. Throws InputError for points without bounds and for
// invalid results.
League rank(const sweep::Plan& plan, const std::string& folder);

// Formats a table per contest, then the overall ranking if there are several. Lines of plug-ins begin with '>'.
std::string league_text(const League& league);

// Formats one object (README.md lists its keys) with a newline at the end. Integers only, keys in a fixed order.
std::string league_json(const League& league);

// Formats a header, a row per entrant and contest (scope "contest"), then one per entrant (scope "overall"): the
// numbers of the JSON, means rounded to thousandths, "yes" as 1; absent values are empty. RFC 4180.
std::string league_csv(const League& league);

constexpr const char* status_name(Standing::Status status) {
  constexpr const char* kNames[] = {"finished", "failed", "missing"};
  return kNames[static_cast<unsigned>(status)];
}

}  // namespace uvmsim::league
