// SPDX-License-Identifier: Apache-2.0
// Tests of `uvmsim league`: which policies take part, in which order, and how failures are reported.
#include <set>
#include <sstream>

#include "sim/sweep/plan.h"
#include "sim/sweep/point_files.h"
#include "tests/cli/sweep_command_test.h"

namespace uvmsim {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class League : public SweepCommandTest {
 protected:
  CommandResult league(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "league");
    return run(arguments);
  }
  CommandResult league_of_a(std::vector<std::string> more) {
    more.insert(more.begin(),
                {"a.jsonl", "--system", "h200-sxm-pcie5", "--osf", "2", "--iterations", "recorded", "-o", "out"});
    return league(more);
  }
  json result() const { return json::parse(folder.read("out/league.json")); }

  static std::vector<std::string> names(const json& standings) {
    std::vector<std::string> all;
    for (const json& one : standings) all.push_back(one["name"]);
    return all;
  }
  static json standing(const json& standings, const std::string& name) {
    for (const json& one : standings) {
      if (one["name"] == name) return one;
    }
    return nullptr;
  }
};

// The expected policies come from the registry, so that later slots are covered.
TEST_F(League, EveryRegisteredPolicyTakesPartOnceBesideTheDriversOwn) {
  const auto all = json::parse(run({"policies", "--json"}).out)["policies"];
  std::set<std::string> expected{"driver"};
  std::map<std::string, std::string> driver;  // by slot
  const auto result = league_of_a({});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120u) << line;
  const json contest = this->result()["contests"][0];
  const json of_driver = standing(contest["standings"], "driver")["policies"];
  for (const auto& [slot, text] : of_driver.items()) driver[slot] = text;
  // A single GPU has no routes to choose, and a single program has no turns and no other processes.
  const auto takes_no_part = [](const json& policy) {
    return policy["slot"] == "route" || policy["slot"] == "schedule" || policy["for_processes"];
  };
  // A policy that fills several slots is listed in each, with one description, and takes part once.
  std::map<std::pair<std::string, std::string>, std::string> labels;
  for (const json& policy : all) {
    const std::string slot = policy["slot"], name = policy["name"];
    if (takes_no_part(policy) || driver.at(slot) == name) continue;
    std::string& label = labels[{name, policy["description"]}];
    label += (label.empty() ? "" : " + ") + slot + " " + name;
  }
  for (const auto& [policy, label] : labels) expected.insert(label);
  const auto found = names(contest["standings"]);
  EXPECT_EQ(std::set<std::string>(found.begin(), found.end()), expected);
  EXPECT_EQ(found.size(), expected.size());
  EXPECT_EQ(driver.at("prefetch"), "tree");
  EXPECT_EQ(driver.at("evict"), "lrm");
  for (const json& policy : all) {
    const std::string slot = policy["slot"], name = policy["name"];
    if (takes_no_part(policy) || driver.at(slot) == name) continue;
    const json one = standing(contest["standings"], labels.at({name, policy["description"]}));
    EXPECT_GE(one["information_class"], policy["information_class"]) << name;
    EXPECT_EQ(one["plugin"], false);
  }
}

TEST_F(League, NumbersAreThoseOfRunWithBounds) {
  ASSERT_EQ(league_of_a({"--prefetch", "none", "--prefetch", "tree", "--evict", "lru"}).exit_code, 0);
  const json contest = result()["contests"][0];
  EXPECT_THAT(names(contest["standings"]),
              ::testing::UnorderedElementsAre("driver", "evict lru", "prefetch none + evict lru"));
  ASSERT_EQ(run({"run",      "a.jsonl",   "--system", "h200-sxm-pcie5",     "--osf",    "2",        "--prefetch",
                 "none",     "--evict",   "lru",      "--iterations",       "recorded", "--bounds", "--best-of",
                 "tree+lru", "--best-of", "tree+lrm", "--no-unlimited-run", "--json",   "r.json"})
                .exit_code,
            0);
  const json alone = json::parse(folder.read("r.json"));
  const json one = standing(contest["standings"], "prefetch none + evict lru");
  const json& bounds = alone["bounds"];
  EXPECT_EQ(one["total_ns"], alone["total_ns"]);
  EXPECT_EQ(contest["bound_ns"], bounds["best_ns"]);
  EXPECT_EQ(contest["compute_ns"], bounds["compute_ns"]);
  EXPECT_EQ(contest["best_known_ns"], bounds["best_known"]["total_ns"]);
  EXPECT_EQ(one["over_bound_thousandths"], bounds["distance"]["over_bound_thousandths"]);
  EXPECT_EQ(one["over_best_known_thousandths"], bounds["distance"]["over_best_known_thousandths"]);
  std::uint64_t sum = one["compute_ns"];
  for (const char* part : {"necessary_bytes_ns", "excess_bytes_ns", "fault_latency_ns", "serialisation_ns"}) {
    EXPECT_EQ(one[part], bounds["distance"][part]) << part;
    sum += one[part].get<std::uint64_t>();
  }
  EXPECT_EQ(sum, one["total_ns"]);
  // The folder is also a sweep, whose database holds the same numbers.
  EXPECT_EQ(sweep({"status", "out"}).exit_code, 0);
  EXPECT_THAT(
      query("out/results.sqlite",
            "SELECT total_ns, bound_write_backs_ns, serialisation_ns FROM points WHERE "
            "prefetch = 'none'"),
      ElementsAre(ElementsAre(one["total_ns"].dump(), contest["bound_ns"].dump(), one["serialisation_ns"].dump())));
}

TEST_F(League, OnceMoreComputesNothingAndWritesTheSame) {
  const auto first = league_of_a({"--evict", "lru", "--jobs", "1"});
  ASSERT_EQ(first.exit_code, 0);
  const auto before = times("out");
  const std::string text = folder.read("out/league.txt"), csv = folder.read("out/league.csv");
  EXPECT_EQ(league_of_a({"--evict", "lru", "-j", "2"}).out, first.out);
  EXPECT_EQ(league({"table", "out"}).exit_code, 0);
  EXPECT_EQ(times("out"), before);
  EXPECT_EQ(folder.read("out/league.txt"), text);
  EXPECT_EQ(folder.read("out/league.csv"), csv);
  EXPECT_THAT(csv, Not(HasSubstr(folder.path()))) << "no folder in a result";
  EXPECT_THAT(first.out, HasSubstr(text));
}

TEST_F(League, PlannedItIsASweepLikeAnyOther) {
  const std::vector<std::string> what{"a.jsonl", "--system", "h200-sxm-pcie5", "--osf",   "2",
                                      "--evict", "lru",      "--iterations",   "recorded"};
  std::vector<std::string> plan = what, whole = what;
  plan.insert(plan.begin(), "plan");
  plan.insert(plan.end(), {"-o", "shares"});
  whole.insert(whole.end(), {"-o", "out"});
  ASSERT_EQ(league(plan).exit_code, 0);
  ASSERT_EQ(sweep({"run", "shares", "--shard", "1/2"}).exit_code, 0);
  const auto half = league({"table", "shares"});
  EXPECT_EQ(half.exit_code, 1) << "one is missing";
  EXPECT_THAT(half.out, HasSubstr("missing"));
  ASSERT_EQ(sweep({"run", "shares", "--shard", "2/2"}).exit_code, 0);
  ASSERT_EQ(league({"table", "shares"}).exit_code, 0);
  ASSERT_EQ(league(whole).exit_code, 0);
  for (const char* file : {"/league.txt", "/league.csv", "/league.json", "/results.sqlite"}) {
    EXPECT_TRUE(folder.read(std::string("shares") + file) == folder.read(std::string("out") + file)) << file;
  }
}

TEST_F(League, PoliciesOfPluginsTakePartAndStandOut) {
  const auto result = league_of_a({"b.jsonl", "--evict", "lru", "--plugin", UVMSIM_CRASH_PLUGIN});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json mine = standing(this->result()["contests"][0]["standings"], "prefetch crash");
  EXPECT_EQ(mine["plugin"], true);
  EXPECT_EQ(mine["status"], "finished");
  std::istringstream lines(folder.read("out/league.txt"));
  std::size_t marked = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("prefetch crash") == std::string::npos) continue;
    EXPECT_TRUE(line.starts_with('>')) << line;
    ++marked;
  }
  EXPECT_EQ(marked, 3u) << "in two contests, and over all";
  EXPECT_THAT(folder.read("out/league.csv"), HasSubstr("crash"));
}

TEST_F(League, AnotherPluginComputesOnlyItsOwnAnew) {
  ASSERT_EQ(league_of_a({"--evict", "lru"}).exit_code, 0);
  const auto before = times("out");
  ASSERT_EQ(league_of_a({"--evict", "lru", "--plugin", UVMSIM_CRASH_PLUGIN}).exit_code, 0);
  const auto after = times("out");
  EXPECT_EQ(after.size(), before.size() + 1);
  for (const auto& [name, time] : before) EXPECT_EQ(after.at(name), time) << name;
}

TEST_F(League, WhatFailsIsShownAndTheRestRanked) {
  const auto result = league_of_a(
      {"--prefetch", "none", "--prefetch", "crash:signal=9", "--plugin", UVMSIM_CRASH_PLUGIN, "--jobs", "2"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("1 of 4 runs failed"));
  EXPECT_THAT(result.out, AllOf(HasSubstr("prefetch crash:signal=9 failed: "), HasSubstr("signal 9")));
  const json league = this->result();
  EXPECT_EQ(league["failed"], 1);
  const json contest = league["contests"][0]["standings"];
  EXPECT_EQ(contest.back()["name"], "prefetch crash:signal=9") << "last";
  EXPECT_EQ(contest.back()["status"], "failed");
  EXPECT_EQ(contest.back()["rank"], nullptr);
  EXPECT_THAT(contest.back()["error"], HasSubstr("signal 9"));
  EXPECT_EQ(league["overall"].back()["name"], "prefetch crash:signal=9");
  EXPECT_EQ(league["overall"].back()["rank"], nullptr);
  EXPECT_TRUE(exists("out/results.partial.sqlite"));
}

// The programs have a GiB: a prefetcher whose table of fixed size is too small for them would act like another
// prefetcher.
TEST_F(League, NoTwoPrefetchersAgreeOnEveryProgram) {
  std::vector<std::string> arguments = {UVMSIM_SOURCE_DIR "/workloads/tiled_matmul.uvmt",
                                        UVMSIM_SOURCE_DIR "/workloads/pagerank.uvmt",
                                        "--system",
                                        "h200-sxm-pcie5",
                                        "--osf",
                                        "2",
                                        "-o",
                                        "out"};
  const json known = json::parse(run({"policies", "--json"}).out);
  for (const json& policy : known["policies"]) {
    const std::string name = policy["name"];
    if (name == "none" || name == "random" || policy["for_processes"]) continue;  // the first two take minutes
    if (policy["slot"] == "prefetch") arguments.insert(arguments.end(), {"--prefetch", name});
  }
  ASSERT_GT(arguments.size(), 20u);
  const auto result = league(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(this->result()["agreeing"], json::array()) << result.out;
}

TEST_F(League, SweepFilesGiveTheContests) {
  folder.write("s.json", R"({"iterations": "recorded", "grids": [
    {"traces": ["a.jsonl", "b.jsonl"], "systems": "h200-sxm-pcie5", "osf": [1, 2], "evict": ["lru", "fifo"]},
    {"traces": "a.jsonl", "systems": "a100-sxm-40g", "osf": 2}]})");
  ASSERT_EQ(league({"s.json", "-o", "out", "--plugin", UVMSIM_CRASH_PLUGIN}).exit_code, 0);
  const json all = result();
  ASSERT_EQ(all["contests"].size(), 5u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_THAT(names(all["contests"][i]["standings"]),
                ::testing::UnorderedElementsAre("driver", "evict lru", "evict fifo", "prefetch crash"));
  }
  EXPECT_GT(all["contests"][4]["standings"].size(), 20u) << "a grid without policies stands for all";
  EXPECT_EQ(all["contests"][1]["label"], "a.jsonl, h200-sxm-pcie5, layout recorded, OSF 2");
  EXPECT_EQ(all["counted_contests"], 5);
  const json overall = all["overall"];
  EXPECT_EQ(standing(overall, "evict lru")["contests"], 5);
  EXPECT_EQ(standing(overall, "evict arc")["contests"], 1);
  EXPECT_EQ(standing(overall, "evict arc")["rank"], nullptr) << "not in all contests";
}

// A league depends only on results, which these tests make up.
class Standings : public League {
 protected:
  // Plans contests of trace `a` at the factors with evictors lru, fifo, clock and arc.
  void plan(const std::string& factors, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"plan", "a.jsonl", "--system", "h200-sxm-pcie5", "--osf", factors,   "--evict",
                                       "lru",  "--evict", "fifo",     "--evict",        "clock", "--evict", "arc",
                                       "-o",   "out"};
    if (more.empty()) arguments.insert(arguments.end(), {"--iterations", "recorded"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    ASSERT_EQ(league(arguments).exit_code, 0);
    plan_ = sweep::read_plan(folder.path("out"));
  }
  void finish(std::uint64_t osf_thousandths, const std::string& evict, std::uint64_t total_ms,
              const char* information = "D0") {
    for (const sweep::PlannedPoint& planned : plan_.points) {
      if (planned.point.osf_thousandths != osf_thousandths || planned.point.evict.name != evict) continue;
      const std::uint64_t ms = 1'000'000, bound = 40 * ms;
      json result = made_up_;
      result["policies"]["evict"] = {
          {"name", evict}, {"information_class", information}, {"parameters", json::object()}};
      result["total_ns"] = total_ms * ms;
      result["bounds"]["best_ns"] = bound;
      result["bounds"]["write_backs_ns"] = bound;
      result["bounds"]["compute_ns"] = 30 * ms;
      result["bounds"]["distance"]["excess_bytes_ns"] = 5 * ms;
      result["bounds"]["distance"]["fault_latency_ns"] = 15 * ms;
      result["bounds"]["distance"]["serialisation_ns"] = (total_ms - 60) * ms;
      sweep::PointFiles(folder.path("out")).write_result(planned.id, result.dump());
    }
  }
  // Makes a complete result whose numbers the tests change.
  void make_template() {
    ASSERT_EQ(run({"run", "a.jsonl", "--system", "h200-sxm-pcie5", "--osf", "2", "--iterations", "recorded", "--bounds",
                   "--json", "t.json"})
                  .exit_code,
              0);
    made_up_ = json::parse(folder.read("t.json"));
    made_up_["capacity_bytes"] = 8 << 20;
    made_up_["footprint_bytes"] = 16 << 20;
  }

  sweep::Plan plan_;
  json made_up_;
};

TEST_F(Standings, ExactlyThisTable) {
  make_template();
  plan("2");
  finish(2000, "lrm", 100);
  finish(2000, "lru", 80, "D2");
  finish(2000, "fifo", 80);
  finish(2000, "clock", 125, "D2");
  finish(2000, "arc", 70, "D4");
  ASSERT_EQ(league({"table", "out"}).exit_code, 0);
  EXPECT_EQ(folder.read("out/league.txt"),
            R"(a.jsonl, h200-sxm-pcie5, layout recorded, OSF 2
capacity 8.00 MiB, footprint 16.00 MiB; lower bound 40.000 ms: computing 30.000, necessary bytes 10.000
best known 70.000 ms: evict arc
best of the oracles 70.000 ms: evict arc
    #               class  time (ms)  / driver  / bound  / best known  excess bytes  fault latency  serialisation
    1  evict fifo      D0     80.000     0.800    2.000         1.143         5.000         15.000         20.000
    1  evict lru       D2     80.000     0.800    2.000         1.143         5.000         15.000         20.000
    3  driver          D0    100.000     1.000    2.500         1.429         5.000         15.000         40.000
    4  evict clock     D2    125.000     1.250    3.125         1.786         5.000         15.000         65.000
   o1  evict arc       D4     70.000     0.700    1.750         1.000         5.000         15.000         10.000

driver: prefetch tree, evict lrm, plan none, migrate first_touch, route direct, batch driver; >: from a plug-in; o:
  knows the future (D4), ranked apart; times, in ms, are of the whole run, but of a settled iteration where learning
  says how many came before
)");
}

// Four policies learn for a while, and one never settles.
TEST_F(Standings, SettledIterationsDecideWhereANumberOfThemWasAskedFor) {
  make_template();
  plan("2", {"--iterations", "20"});
  const auto settled = [&](std::uint64_t ms, std::optional<std::uint64_t> learning) {
    made_up_["settled"]["duration_ns"] = ms * 1'000'000;
    made_up_["settled"]["is_settled"] = learning.has_value();
    made_up_["settled"]["learning_iterations"] = learning ? json(*learning) : json(nullptr);
  };
  settled(10, 1);
  finish(2000, "lrm", 100);
  settled(9, 7);
  finish(2000, "lru", 300, "D2");  // slow as long as it learns
  settled(12, std::nullopt);
  finish(2000, "fifo", 80);
  settled(20, 3);
  finish(2000, "clock", 90, "D2");
  settled(5, 2);
  finish(2000, "arc", 70, "D4");
  const auto shown = league({"table", "out"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(folder.read("out/league.txt"), HasSubstr(R"(best known 70.000 ms: evict arc
best of the oracles 5.000 ms: evict arc
    #               class  time (ms)  / driver     learning  whole run  / bound  / best known  excess bytes
    1  evict lru       D2      9.000     0.900            7    300.000    7.500         4.286         5.000
    2  driver          D0     10.000     1.000            1    100.000    2.500         1.429         5.000
    3  evict fifo      D0     12.000     1.200  not settled     80.000    2.000         1.143         5.000
    4  evict clock     D2     20.000     2.000            3     90.000    2.250         1.286         5.000
   o1  evict arc       D4      5.000     0.500            2     70.000    1.750         1.000         5.000

    #               fault latency  serialisation
    1  evict lru           15.000        240.000
    2  driver              15.000         40.000
    3  evict fifo          15.000         20.000
    4  evict clock         15.000         30.000
   o1  evict arc           15.000         10.000
)"));
  const json contest = result()["contests"][0];
  EXPECT_EQ(contest["judged_by"], "settled iterations");
  EXPECT_EQ(contest["driver_ns"], 10'000'000);
  EXPECT_EQ(contest["driver_total_ns"], 100'000'000);
  EXPECT_EQ(standing(contest["standings"], "evict lru")["learning_iterations"], 7);
  EXPECT_EQ(standing(contest["standings"], "evict fifo")["is_settled"], false);
  EXPECT_TRUE(standing(contest["standings"], "evict fifo")["learning_iterations"].is_null());
  const json all = result()["overall"];
  EXPECT_EQ(standing(all, "evict lru")["learning_iterations"], 7);
  EXPECT_EQ(standing(all, "evict fifo")["unsettled"], 1);
  const auto csv = csv_table(folder.read("out/league.csv"));
  for (const char* column : {"time_ns", "is_settled", "learning_iterations", "unsettled"}) {
    EXPECT_THAT(csv.front(), ::testing::Contains(column));
  }
}

TEST_F(Standings, OverallIsTheGeometricMeanOfWhatTheDriverFinished) {
  make_template();
  plan("1.5,2,4");
  for (const std::uint64_t osf : {1500u, 2000u}) finish(osf, "lrm", 100);
  finish(1500, "lru", 200);
  finish(2000, "lru", 80);  // mean sqrt(2 * 0.8)
  finish(1500, "fifo", 160);
  finish(2000, "fifo", 100);  // likewise
  finish(1500, "clock", 90);  // missing at one factor
  finish(1500, "arc", 120);
  finish(2000, "arc", 120);
  finish(4000, "arc", 61);  // the driver is missing there
  EXPECT_EQ(league({"table", "out"}).exit_code, 1);
  const json all = result();
  EXPECT_EQ(all["counted_contests"], 2);
  EXPECT_THAT(names(all["overall"]), ElementsAre("driver", "evict arc", "evict fifo", "evict lru", "evict clock"));
  std::vector<json> ranks;
  for (const json& one : all["overall"]) ranks.push_back(one["rank"]);
  EXPECT_EQ(ranks, (std::vector<json>{1, 2, 3, 3, nullptr}));
  EXPECT_EQ(standing(all["overall"], "evict lru")["over_driver_millionths"], 1264911);
  EXPECT_EQ(standing(all["overall"], "evict lru")["worst_over_driver_thousandths"], 2000);
  EXPECT_EQ(standing(all["overall"], "evict lru")["best_over_driver_thousandths"], 800);
  EXPECT_EQ(standing(all["overall"], "evict lru")["first"], 1);
  EXPECT_EQ(standing(all["overall"], "evict clock")["contests"], 1);
  EXPECT_EQ(standing(all["contests"][2]["standings"], "evict arc")["over_driver_thousandths"], nullptr);
  EXPECT_EQ(all["rank_stability"],
            json({{"limits", {"OSF 1.5", "OSF 2"}}, {"entrants", 4}, {"kendall_tau_thousandths", -548}}));
  EXPECT_EQ(standing(all["overall"], "evict lru")["spread_millionths"], 1911552);
  EXPECT_EQ(standing(all["overall"], "evict lru")["worst_limit_rank"], 5);
  EXPECT_THAT(folder.read("out/league.txt"), EndsWith(R"(
overall, contests counted: 2; by the geometric mean of the time over that under the driver's own policies, over all programs and limits; times of settled iterations, or of whole runs where none is repeated
    #               class  / driver   best  worst  spread   ranks  / bound  / best known  first in  contests
    1  driver          D0     1.000  1.000  1.000   1.000       2    2.500         1.179         0         2
    2  evict arc       D0     1.200  1.200  1.200   1.000  3 to 4    3.000         1.414         0         2
    3  evict fifo      D0     1.265  1.000  1.600   1.394  2 to 4    3.162         1.491         0         2
    3  evict lru       D0     1.265  0.800  2.000   1.912  1 to 5    3.162         1.491         1         2
    -  evict clock     D0     0.900  0.900  0.900       -       1    2.250         1.000         1         1
rank stability over OSF 1.5, OSF 2: Kendall's tau -0.548 (4 entrants that are ranked under each)

driver: prefetch tree, evict lrm, plan none, migrate first_touch, route direct, batch driver; >: from a plug-in; o:
  knows the future (D4), ranked apart; times, in ms, are of the whole run, but of a settled iteration where learning
  says how many came before
)"));
}

// The reference is the best oracle of each contest, not one oracle for all.
TEST_F(Standings, TheBestOracleOfEachContestIsTheReference) {
  make_template();
  plan("1.5,2");
  for (const std::uint64_t osf : {1500u, 2000u}) finish(osf, "lrm", 100);
  finish(1500, "arc", 50, "D4");
  finish(2000, "arc", 10000, "D4");  // worse than the driver
  finish(1500, "lru", 80, "D4");
  finish(2000, "lru", 50, "D4");
  finish(1500, "fifo", 90);
  finish(2000, "fifo", 30);  // faster than the oracles, but not part of the reference
  league({"table", "out"});
  const json all = result();
  EXPECT_EQ(all["contests"][0]["best_oracle"], "evict arc");
  EXPECT_EQ(all["contests"][1]["best_oracle"], "evict lru");
  EXPECT_EQ(all["contests"][1]["best_oracle_ns"], 50'000'000);
  EXPECT_EQ(all["best_oracles_over_driver_millionths"], 500'000);
  EXPECT_THAT(folder.read("out/league.txt"),
              HasSubstr("the best oracle of each contest, the reference: 0.500 / driver"));
}

TEST_F(Standings, EntrantsThatAgreeInEveryDigitAreNamed) {
  make_template();
  plan("1.5,2");
  for (const std::uint64_t osf : {1500u, 2000u}) finish(osf, "lrm", 100);
  finish(1500, "lru", 80);
  finish(2000, "lru", 90);
  finish(1500, "fifo", 80);
  finish(2000, "fifo", 90);
  finish(1500, "clock", 80);  // in one of two contests only
  finish(2000, "clock", 91);
  league({"table", "out"});
  EXPECT_EQ(result()["agreeing"], json::array({json::array({"evict fifo", "evict lru"})}));
  EXPECT_THAT(folder.read("out/league.txt"),
              HasSubstr("agree in every digit of every contest: evict fifo, evict lru\n"));
}

class BadLeagues : public League {};

TEST_F(BadLeagues, AreOneLineAndLeaveNothing) {
  const std::vector<std::string> good{"a.jsonl", "--system", "h200-sxm-pcie5", "--osf", "2"};
  const auto expect = [&](std::vector<std::string> arguments, const std::vector<std::string>& words) {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    expect_one_line_error(league(arguments), words);
    EXPECT_FALSE(exists("out"));
  };
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), good.begin(), good.end());
    return more;
  };
  expect({}, {"--output"});
  expect({"-o", "out"}, {"no trace or sweep file", "--help"});
  expect({"a.jsonl", "-o", "out"}, {"--system", "uvmsim systems"});
  expect(good, {"league: option --output (-o DIR) is missing"});
  expect(with({"-o", "out", "--jobs", "0"}), {"--jobs", "1 to 1024"});
  expect(with({"-o", "out", "--evict", "lur"}), {"unknown evict policy 'lur'", "did you mean '"});
  expect(with({"-o", "out", "--prefetch", "tree:treshold=3"}), {"treshold", "threshold"});
  expect(with({"-o", "out", "--plugin", "missing.so"}), {"missing.so"});
  expect(with({"-o", "out", "--evit", "lru"}), {"unknown option --evit", "did you mean '--evict'", "uvmsim league"});
  expect(with({"missing.uvmt", "-o", "out"}), {"missing.uvmt"});
  expect({"-", "--system", "h200-sxm-pcie5", "-o", "out"}, {"standard input"});
  expect({"missing.json", "-o", "out"}, {"missing.json"});
  spec("s", R"("osf": [2])");
  expect({"s.json", "a.jsonl", "-o", "out"}, {"a.jsonl", "one sweep file, or traces"});
  expect({"s.json", "--osf", "2", "-o", "out"}, {"--osf", "no effect on a sweep file"});
  expect({"table"}, {"no folder"});
  expect({"table", "nowhere"}, {"nowhere", "holds no sweep"});
}

TEST_F(BadLeagues, ASweepWithoutBoundsIsNone) {
  ASSERT_EQ(sweep({spec("s", R"("osf": [2])"), "-o", "out"}).exit_code, 0);
  expect_one_line_error(league({"table", "out"}), {"out", "without bounds", R"("bounds": true)"});
  EXPECT_FALSE(exists("out/league.csv"));
}

}  // namespace
}  // namespace uvmsim
